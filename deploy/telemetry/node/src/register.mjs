import { register } from 'node:module';
import './register.js';

try {
  register('./loader.mjs', import.meta.url);
} catch (error) {
  process.emitWarning(`@sync/otel-callsites does not see import statements: ${error?.message ?? error}`);
}
