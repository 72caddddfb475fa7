'use strict';

// Assigned by name, one by one: Node reads the names of a CommonJS module's exports off these lines for `import`.
exports.CallSiteSpanProcessor = require('./processor').CallSiteSpanProcessor;
exports.wrapClient = require('./facade').wrapClient;
