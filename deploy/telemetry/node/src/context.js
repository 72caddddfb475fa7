'use strict';

const { context, diag } = require('@opentelemetry/api');

/**
 * Under this key the OpenTelemetry context carries `{ site, hosts, ignore }` of the facade's call that is under way.
 * From the registry of all symbols: a bundle may hold a second copy of this package.
 */
const CALL = Symbol.for('sync.otel-callsites.call');

/** Runs `f` as part of a call that was made at `site`. */
function within(call, f, self, args) {
  return context.with(context.active().setValue(CALL, call), () => Reflect.apply(f, self, args));
}

const isolated = new WeakMap();

/**
 * The same function for an SDK to call: what the application does in it is no part of the call that is under way.
 * One function gives one, so that a listener can be taken away again.
 */
function isolate(f) {
  let wrapped = isolated.get(f);
  if (!wrapped) {
    wrapped = new Proxy(f, {
      apply(target, self, args) {
        const active = context.active();
        if (active.getValue(CALL) === undefined) return Reflect.apply(target, self, args);
        return context.with(active.deleteValue(CALL), () => Reflect.apply(target, self, args));
      },
    });
    isolated.set(f, wrapped);
  }
  return wrapped;
}

function complain(what, error) {
  try {
    diag.debug(`@sync/otel-callsites: ${what}: ${error?.message ?? error}`);
  } catch {
    // A logger that throws is no reason to fail the application's request.
  }
}

module.exports = { CALL, within, isolate, complain };
