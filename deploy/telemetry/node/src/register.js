'use strict';

// Preloaded into programs that are not ours: whatever goes wrong in here is said, and the program runs as it would.
try {
  require('./hook').install();
} catch (error) {
  process.emitWarning(`@sync/otel-callsites is not active: ${error?.message ?? error}`);
}
