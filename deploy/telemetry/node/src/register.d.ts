/** Preload with `node --import @sync/otel-callsites/register` (ECMAScript modules and CommonJS) or `-r` (CommonJS). */
export {};
