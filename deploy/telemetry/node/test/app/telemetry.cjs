'use strict';

// Preloaded into the application under test: OpenTelemetry as an application sets it up, of the major OTEL_MAJOR. It
// reads the standard variables (endpoint, headers, protocol, resource attributes); spans leave when the program ends.
const major = process.env.OTEL_MAJOR ?? '2';
const json = process.env.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/json';
const processors = [];
if (process.env.WITH_PROCESSOR) {
  const { CallSiteSpanProcessor } = require('@sync/otel-callsites');
  processors.push(new CallSiteSpanProcessor());
}

const { context, trace } = require('@opentelemetry/api');
const { OTLPTraceExporter } = require(`otel${major}-${json ? 'json' : 'proto'}`);
const { HttpInstrumentation } = require(`otel${major}-http`);
const { UndiciInstrumentation } = require(`otel${major}-undici`);
const resources = require(`otel${major}-resources`);
const sdk = require(`otel${major}-sdk`);

// Before the provider exists, as the SDK's own start does.
const instrumentations = [new HttpInstrumentation(), new UndiciInstrumentation()];

const exporter = new OTLPTraceExporter();
const resource = major === '1'
  ? resources.detectResourcesSync({ detectors: [resources.envDetectorSync] })
  : resources.detectResources({ detectors: [resources.envDetector] });
processors.push(new sdk.BatchSpanProcessor(major === '3' ? { exporter } : exporter));
const Provider = sdk.NodeTracerProvider ?? sdk.TracerProvider;
const provider = new Provider({ resource, spanProcessors: processors });
if (provider.register) {
  provider.register();
} else {
  const { AsyncLocalStorageContextManager } = require('otel3-context');
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
}
for (const instrumentation of instrumentations) instrumentation.setTracerProvider(provider);

// HTTP is patched for `import` too, before anybody imports it.
require('node:http');
require('node:https');

let ended = false;
process.on('beforeExit', () => {
  if (ended) return;
  ended = true;
  provider.shutdown().catch((error) => {
    console.error('spans could not be exported:', error.message);
    process.exitCode = 1;
  });
});
