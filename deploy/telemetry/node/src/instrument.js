'use strict';

const rows = require('./clients.json');
const { complain } = require('./context');
const { facadeOf, isWrappable, raw } = require('./facade');
const { hostOf } = require('./hosts');

/** Requests that SDKs make for their own purposes, on their vendor's host: no call of the application asks them. */
const FOR_ITSELF = {
  '@octokit': /\/(?:app\/installations\/\d+\/access_tokens|login\/oauth\/access_token)$/,
};

const packages = new Map(Object.entries(rows));

const wrapped = new WeakMap();
const wrappers = new WeakSet();

/** What `require` of a package gives, its clients wrapped. Never throws; the package's own exports stay as they are. */
function instrumentExports(name, exports) {
  if (exports === null || (typeof exports !== 'object' && typeof exports !== 'function')) return exports;
  try {
    let result = wrapped.get(exports);
    if (!result) {
      result = typeof exports === 'function' ? exported(name, 'default', exports)
        : isClient(name, exports) ? facadeOf(exports, rulesOf(name, [], exports))
          : withClients(name, exports);
      wrapped.set(exports, result);
      if (result !== exports) wrapped.set(result, result);
    }
    return result;
  } catch (error) {
    complain(`${name} is left as it is`, error);
    return exports;
  }
}

/** What a module that stands in for a package exports in place of the original's: its clients, and its default. Never throws. */
function instrumentNamespace(name, namespace) {
  const result = {};
  for (const key of new Set([...packages.get(name)?.exports ?? [], 'default'])) {
    const value = namespace[key];
    result[key] = value;
    try {
      if (packages.get(name).exports.includes(key)) result[key] = exported(name, key, value);
      // What `import` makes of a CommonJS package: its exports object.
      else if (isModule(name, value)) result[key] = instrumentExports(name, value);
    } catch (error) {
      complain(`${name}.${key} is left as it is`, error);
    }
  }
  return result;
}

/** A copy of the exports object, every member of which still reads the original: bindings that change stay alive. */
function withClients(name, exports) {
  const names = new Set(packages.get(name).exports);
  const copy = Object.create(Object.getPrototypeOf(exports));
  for (const key of Reflect.ownKeys(exports)) {
    Object.defineProperty(copy, key, {
      configurable: true,
      enumerable: Object.prototype.propertyIsEnumerable.call(exports, key),
      get: names.has(key) ? () => exported(name, key, exports[key]) : () => exports[key],
      set: (value) => { exports[key] = value; },
    });
  }
  return copy;
}

function exported(name, key, value) {
  if (!isWrappable(value) || wrappers.has(value)) return value;
  if (typeof value === 'object') {
    // A module object as default export (what `import` makes of CommonJS), or a client that the package itself made.
    return key === 'default' && isModule(name, value) ? instrumentExports(name, value) : facadeOf(value, rulesOf(name, [], value));
  }
  if (packages.get(name).http) return facadeOf(value, rulesOf(name, [], value));
  let result = wrapped.get(value);
  if (!result) {
    result = constructorOf(name, value);
    wrapped.set(value, result);
    wrappers.add(result);
  }
  return result;
}

/** Whether what a package exports is a client itself (`module.exports = new MailService()`). */
function isClient(name, exports) {
  const prototype = Object.getPrototypeOf(exports);
  return packages.get(name).exports.includes('default') && prototype !== null && prototype !== Object.prototype;
}

function isModule(name, value) {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  return packages.get(name).exports.some((key) => key !== 'default' && Object.hasOwn(value, key)) || value.__esModule === true;
}

/** The class (or factory), whose products are facades. Classes derived from it get plain objects: their members are theirs. */
function constructorOf(name, target) {
  const statics = new WeakMap();
  const itself = new Proxy(target, {
    construct(_target, args, newTarget) {
      const made = Reflect.construct(target, args, newTarget === itself ? target : newTarget);
      return newTarget === itself ? product(name, args, made) : made;
    },
    apply(_target, self, args) {
      return product(name, args, Reflect.apply(target, raw(self), args));
    },
    get(_target, key) {
      const value = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      const own = Reflect.getOwnPropertyDescriptor(target, key);
      if (own && !own.configurable && !own.writable && 'value' in own) return value;
      // `twilio.Twilio`, `require('openai').OpenAI`.
      if (wrapped.has(value) || packages.get(name).exports.includes(key)) return exported(name, key, value);
      // Members with a prototype are classes; `plugin` and `defaults` of Octokit give classes derived from this one.
      if (Object.hasOwn(value, 'prototype')) return value;
      let wrapper = statics.get(value);
      if (!wrapper) {
        wrapper = new Proxy(value, {
          apply(f, self, args) {
            const result = Reflect.apply(f, self === itself ? target : self, args);
            return typeof result === 'function' && Object.prototype.isPrototypeOf.call(target, result) ? exported(name, '', result) : result;
          },
        });
        statics.set(value, wrapper);
      }
      return wrapper;
    },
  });
  return itself;
}

function product(name, args, made) {
  try {
    if (!isWrappable(made) || typeof made.then === 'function') return made;
    return facadeOf(made, rulesOf(name, args, made));
  } catch (error) {
    complain(`a client of ${name} is left as it is`, error);
    return made;
  }
}

function rulesOf(name, args, client) {
  const ignore = FOR_ITSELF[name.split('/')[0]];
  const { http, hosts, base = [], subclients = false } = packages.get(name);
  if (http) return { hosts: asked, ignore, subclients: true };
  const chosen = base.flatMap((option) => [client, ...args].map((holder) => hostOf(read(holder, option))))
    .find((host) => host !== undefined);
  const allowed = chosen === undefined ? hosts : [chosen];
  return { hosts: () => allowed, ignore, subclients };
}

function read(holder, option) {
  let value = holder;
  for (const key of option.split('.')) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined;
    value = value[key];
  }
  return value;
}

/** The host that a call of an HTTP client names, or its instance does. */
function asked(args, self) {
  const [first, second] = args;
  for (const value of [first, first?.url, second?.prefixUrl, self?.defaults?.options?.prefixUrl]) {
    if (typeof value === 'string' && !/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) continue;
    const host = hostOf(value);
    if (host !== undefined) return [host];
  }
  return undefined;
}

module.exports = { packages, instrumentExports, instrumentNamespace };
