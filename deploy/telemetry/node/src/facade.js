'use strict';

const { diag } = require('@opentelemetry/api');
const { complain, isolate, within } = require('./context');
const { capture, nearest } = require('./frames');

/** Raw object of each facade: an SDK is always called with its own objects, so that `#private` members work. */
const raws = new WeakMap();
const facades = new WeakMap();

/** Members whose identity matters. */
const THEMSELVES = new Set(['constructor', 'prototype']);
/** Members that the language and its tools call by themselves: no calls of the application. */
const UNLOCATED = new Set(['then', 'catch', 'finally', 'toJSON', 'toString', 'toLocaleString', 'valueOf', 'inspect']);

function wrapClient(client, options) {
  if (!isWrappable(client)) return client;
  if (!Array.isArray(options?.hosts) || options.hosts.length === 0) {
    diag.warn('@sync/otel-callsites: wrapClient needs hosts, such as wrapClient(client, { hosts: ["api.example.com"] }); the client is left as it is');
    return client;
  }
  const { hosts, ignore, subclients } = options;
  return facadeOf(client, { hosts: () => hosts, ignore, subclients });
}

/** `rules`: { hosts(args, self) → names or undefined, ignore?, subclients? }. */
function facadeOf(client, rules) {
  if (raws.has(client)) return client;
  let facade = facades.get(client);
  if (!facade) {
    facade = new Facade(rules).of(client);
    facades.set(client, facade);
  }
  return facade;
}

/** Everything reachable from one client; methods on prototypes are shared among clients, so each has its own cache. */
class Facade {
  constructor(rules) {
    this.rules = rules;
    this.known = new WeakMap();
  }

  of(value) {
    if (raws.has(value)) return value;
    let facade = this.known.get(value);
    if (!facade) {
      facade = new Proxy(value, typeof value === 'function' ? this.functions() : this.objects());
      this.known.set(value, facade);
      raws.set(facade, value);
    }
    return facade;
  }

  objects() {
    return {
      get: (target, key) => this.member(target, key),
      set: (target, key, value) => Reflect.set(target, key, raw(value), target),
    };
  }

  functions() {
    const facade = this;
    return { ...this.objects(), apply: function apply(target, self, args) { return facade.call(target, self, args, apply); } };
  }

  member(target, key) {
    // Getters run with the raw object, as methods do.
    const value = Reflect.get(target, key, target);
    if (THEMSELVES.has(key) || !isWrappable(value)) return value;
    const own = Reflect.getOwnPropertyDescriptor(target, key);
    // A proxy may not answer anything else for a frozen member.
    if (own && !own.configurable && !own.writable && 'value' in own) return value;
    if (typeof key !== 'symbol' && !UNLOCATED.has(key)) return this.of(value);
    return typeof value === 'function' ? unlocated(value) : value;
  }

  call(target, self, args, below) {
    const receiver = raw(self);
    let call;
    let given = args;
    try {
      given = args.map((value) => (typeof value === 'function' && !raws.has(value) ? isolate(value) : raw(value)));
      const hosts = this.rules.hosts(given, receiver);
      const site = hosts && nearest(capture(below), false);
      // Without a site still a call of its own: what it asks is no part of a call around it.
      call = { site, hosts, ignore: this.rules.ignore };
    } catch (error) {
      complain('a call was not located', error);
      call = {};
    }
    const result = within(call, target, receiver, given);
    try {
      return this.result(result, call, receiver, self);
    } catch (error) {
      complain('a result was left as it is', error);
      return result;
    }
  }

  result(result, call, receiver, self) {
    if (result === null || (typeof result !== 'object' && typeof result !== 'function')) return result;
    // Chaining (`client.on(…).on(…)`) stays on the facade.
    if (result === receiver) return self;
    if (typeof result[Symbol.asyncIterator] === 'function' && !isStream(result)) return pagesOf(result, call);
    if (this.rules.subclients && typeof result.then !== 'function' && isInstance(result)) return this.of(result);
    return result;
  }
}

/**
 * A list that fetches its further pages when it is iterated, long after the call: each of these requests belongs to
 * the call that made the list. Its members are replaced in place, since it is a promise, too, as a rule.
 */
function pagesOf(list, call) {
  if (!call.site || !Object.isExtensible(list)) return list;
  const names = Object.keys(list).filter((key) => typeof list[key] === 'function' && !UNLOCATED.has(key));
  for (const key of [...names, Symbol.asyncIterator]) {
    const own = Reflect.getOwnPropertyDescriptor(list, key);
    if (own && (!own.configurable || !('value' in own))) continue;
    const f = list[key];
    const value = function (...args) {
      const given = args.map((arg) => (typeof arg === 'function' ? isolate(arg) : arg));
      const result = within(call, f, this, given);
      return key === Symbol.asyncIterator ? stepsOf(result, call) : result;
    };
    Object.defineProperty(list, key, { configurable: true, enumerable: own?.enumerable ?? false, writable: true, value });
  }
  return list;
}

/** The iterator, each of whose steps runs as part of the call; the body of the loop does not. */
function stepsOf(iterator, call) {
  if (iterator === null || typeof iterator !== 'object') return iterator;
  const steps = new Proxy(iterator, {
    get(target, key) {
      const value = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      if (key === Symbol.asyncIterator) return () => steps;
      return (...args) => within(call, value, target, args);
    },
  });
  return steps;
}

const quiet = new WeakMap();

/** The function, run with the raw object all the same: with a proxy for `this` it would find no `#private` member. */
function unlocated(f) {
  let wrapped = quiet.get(f);
  if (!wrapped) {
    wrapped = new Proxy(f, { apply: (target, self, args) => Reflect.apply(target, raw(self), args) });
    quiet.set(f, wrapped);
  }
  return wrapped;
}

function raw(value) {
  return (value !== null && (typeof value === 'object' || typeof value === 'function') && raws.get(value)) || value;
}

/** Functions and plain or class-made objects. Arrays, promises, maps, dates, URLs and the like are data. */
function isWrappable(value) {
  if (typeof value === 'function') return true;
  return value !== null && typeof value === 'object' && Object.prototype.toString.call(value) === '[object Object]';
}

function isInstance(value) {
  if (typeof value === 'function') return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype !== null && prototype !== Object.prototype && isWrappable(value);
}

function isStream(value) {
  return typeof value.pipe === 'function' || typeof value.getReader === 'function';
}

module.exports = { wrapClient, facadeOf, isWrappable, raw };
