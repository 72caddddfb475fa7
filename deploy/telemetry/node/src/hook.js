'use strict';

const Module = require('node:module');
const api = require('@opentelemetry/api');
const { describe } = require('./processor');
const { packages, instrumentExports } = require('./instrument');

const INSTALLED = Symbol.for('sync.otel-callsites.installed');
const API = '@opentelemetry/api';

/** Once a process: clients come wrapped out of `require`, and every tracer that becomes the global one puts call sites on its spans. */
function install() {
  if (globalThis[INSTALLED]) return;
  Object.defineProperty(globalThis, INSTALLED, { value: true });
  watch(api);
  const load = Module._load;
  Module._load = function (request) {
    const exports = Reflect.apply(load, this, arguments);
    if (request === API) watch(exports);
    return packages.has(request) ? instrumentExports(request, exports) : exports;
  };
}

const watched = new WeakSet();

/** An application may have its own copy of the API package; each is told of providers by itself. */
function watch({ trace }) {
  if (!trace || watched.has(trace)) return;
  watched.add(trace);
  const { setGlobalTracerProvider } = trace;
  if (typeof setGlobalTracerProvider !== 'function') return;
  trace.setGlobalTracerProvider = function (provider) {
    attach(provider);
    return Reflect.apply(setGlobalTracerProvider, this, arguments);
  };
  attach(trace.getTracerProvider());
}

const attached = new WeakSet();

/**
 * Span processors of a provider are fixed when it is made, by others: so the spans are met where its tracers start
 * them, which is the same public method in every major of the SDK.
 */
function attach(provider) {
  const tracer = (provider?.getDelegate?.() ?? provider)?.getTracer?.('@sync/otel-callsites');
  const prototype = tracer && Object.getPrototypeOf(tracer);
  if (!prototype || attached.has(prototype) || !Object.hasOwn(prototype, 'startSpan')) return;
  attached.add(prototype);
  const { startSpan } = prototype;
  prototype.startSpan = function started(_name, _options, parent) {
    const span = Reflect.apply(startSpan, this, arguments);
    if (span?.isRecording?.()) describe(span, parent ?? api.context.active(), false, started);
    return span;
  };
}

module.exports = { install };
