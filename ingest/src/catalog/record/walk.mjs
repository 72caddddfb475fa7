// Calls every method of an SDK's client with arguments that can be recognized, and writes down the first request that
// each makes. Nothing leaves this process: requests are noted and never answered, sockets are refused.
//
// usage: node walk.mjs OUT SPEC   (in a folder in which the package is installed)
// SPEC is `{package, clients: {prefix: expression}, depth, methods, seconds}`; an expression sees the package as `sdk`.
// OUT gets a line of JSON each: `{chain, method, host, path, keys, field?}`, `{chain, silent: why}`, at last `{end}`.
import { AsyncLocalStorage } from "node:async_hooks";
import child from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { Writable } from "node:stream";
import tls from "node:tls";

const [, , OUT, SPEC] = process.argv;
const spec = JSON.parse(SPEC);
const out = fs.openSync(OUT, "w");
const write = (line) => fs.writeSync(out, `${JSON.stringify(line)}\n`);
const finish = (line) => {
  write(line);
  fs.closeSync(out);
  leave(0);
};
const leave = process.exit.bind(process);
const deadline = Date.now() + spec.seconds * 1000;
const PATIENCE = 300; // Milliseconds for a method to get from its call to its request.
const AT_ONCE = 24;
const SAMPLE = 40; // Methods by which a guess is judged.

// ---- Requests: the call that made one is known by the asynchronous context that it was made in.

const calls = new AsyncLocalStorage();

function note(method, url, body) {
  const call = calls.getStore();
  if (!call || call.request) return;
  let at;
  try {
    at = new URL(url);
  } catch {
    return;
  }
  call.request = { method: String(method || "GET").toUpperCase(), host: at.host, path: at.pathname };
  call.body = (text) => {
    call.request.field ??= rootField(text);
  };
  if (typeof body === "string") call.body(body);
  setTimeout(call.done, 5); // A body that is written later belongs to the request.
}

// The root field of a GraphQL document: what it asks for, where the path never differs.
function rootField(text) {
  try {
    const { query } = JSON.parse(text);
    return /^\s*(?:query|mutation|subscription)?[^{]*\{\s*(?:\w+\s*:\s*)?(\w+)/.exec(query)?.[1];
  } catch {
    return undefined;
  }
}

const never = () => new Promise(() => {});

const fetchData = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  const url = typeof input === "object" && input !== null && "url" in input ? input.url : String(input);
  if (url.startsWith("data:")) return fetchData(url); // How some find out what `fetch` can do.
  note(init.method ?? input?.method, url, init.body);
  return never();
};

function request(protocol) {
  return (...given) => {
    const first = given[0];
    const options = given.find((value) => value && typeof value === "object" && !(value instanceof URL)) ?? {};
    const base = typeof first === "string" || first instanceof URL ? new URL(first) : undefined;
    const host = options.hostname ?? options.host ?? base?.hostname ?? "localhost";
    const path = options.path ?? (base ? base.pathname + base.search : "/");
    note(options.method, `${options.protocol ?? base?.protocol ?? protocol}//${host}${path}`);
    const call = calls.getStore();
    const chunks = [];
    const written = new Writable({
      write(chunk, _, next) {
        chunks.push(chunk);
        call?.body?.(Buffer.concat(chunks).toString());
        next();
      },
    });
    const nothing = () => written;
    const more = ["setHeader", "setTimeout", "setNoDelay", "setSocketKeepAlive", "removeHeader", "flushHeaders", "abort"];
    for (const name of more) written[name] = nothing;
    written.getHeader = () => undefined;
    written.getHeaders = () => ({});
    return written;
  };
}

const refused = (what) => () => {
  throw new Error(`recording refuses ${what}`);
};
http.request = http.get = request("http:");
https.request = https.get = request("https:");
http2.connect = refused("connections");
net.connect = net.createConnection = net.Socket.prototype.connect = tls.connect = refused("connections");
for (const name of ["exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync"]) {
  child[name] = refused("other programs");
}
process.exit = process.abort = process.kill = refused("to end");
syncBuiltinESMExports();
process.on("uncaughtException", () => {});
process.on("unhandledRejection", () => {});

// ---- Arguments: each text says which parameter, or which key of it, it stands for.

function text(name, argument, isKey) {
  const { texts } = calls.getStore();
  texts.push({ name, argument, isKey });
  return `zz${texts.length - 1}zz`;
}

// An object that has whatever is asked of it; listed, it has what the method said to lack.
function anything(argument) {
  const { learned = [], hidden } = calls.getStore() ?? {};
  const known = wanted(learned.filter(({ path }) => !hidden?.has(path[0])), argument);
  const get = (_, key) => {
    if (hidden?.has(key)) return undefined;
    if (typeof key === "symbol" || /^(then|toJSON|toString|valueOf|constructor|length|pipe|getHeaders|stripe.*)$/.test(key)) {
      return undefined;
    }
    if (!Object.hasOwn(known, key)) Object.defineProperty(known, key, { value: text(key, argument, true), configurable: true });
    return known[key];
  };
  return new Proxy(known, { get });
}

const SAMPLES = {
  array: () => [],
  boolean: () => false,
  date: () => new Date(0),
  list: () => [],
  number: (name, argument) => 9001000 + Number(text(name, argument, true).replace(/z/g, "")),
  object: () => ({}),
  record: () => ({}),
};

// What has a value of each learned kind at its path.
function wanted(learned, argument) {
  const root = {};
  for (const { path, kind, value } of learned) {
    let at = root;
    path.forEach((key, index) => {
      if (typeof at !== "object") return;
      const made = () => value ?? SAMPLES[kind]?.(String(key), argument) ?? text(String(key), argument, true);
      if (index === path.length - 1) at[key] = kind === "enum" ? undefined : made();
      else at = at[key] = Object.hasOwn(at, key) && typeof at[key] === "object" ? at[key] : typeof path[index + 1] === "number" ? [] : {};
    });
  }
  return root;
}

// What an error says about the argument that it is about.
function lesson({ why, texts }) {
  const found = [];
  for (const [, kind, index] of why.matchAll(/Expected (\w+)\. Received "zz(\d+)zz"/g)) {
    if (texts[index]?.isKey) found.push({ path: [texts[index].name], kind });
  }
  const called = /(\w+)\??\.(map|forEach|filter|reduce|some|every|flatMap|join|toISOString) is not a function/.exec(why);
  if (called) found.push({ path: [called[1]], kind: called[2] === "toISOString" ? "date" : "array" });
  const steps = (text) => [...text.matchAll(/\[(\d+)\]|\w+/g)].map(([step, index]) => (index ? Number(index) : step));
  for (const [, at, key] of why.matchAll(/(?:^|; )(?:([^;:"]+): )?Missing required key "(\w+)"/g)) {
    found.push({ path: [...steps(at ?? ""), key], kind: "string" });
  }
  for (const [, at, kind] of why.matchAll(/(?:^|; )([^;:"]+): Expected (\w+)\. Received/g)) found.push({ path: steps(at), kind });
  const start = why.indexOf("[\n");
  if (start >= 0) {
    const issues = (list) =>
      list.forEach((issue) => {
        const value = (issue.values ?? issue.options)?.[0] ?? (issue.code === "invalid_literal" ? issue.expected : undefined);
        const inner = issue.errors?.[0] ?? issue.unionErrors?.[0]?.issues;
        if (inner) issues(inner.map((one) => ({ ...one, path: [...(issue.errors ? issue.path : []), ...one.path] })));
        else if (issue.path.length) found.push({ path: issue.path, kind: issue.expected, value });
      });
    try {
      issues(JSON.parse(why.slice(start)));
    } catch {
      // No list of what is wrong after all.
    }
  }
  return found;
}

const OBJECT = /^(args|arguments|attributes|body|config|data|init|input|object|obj|opts?|options?|params?|parameters|payload|props|query|request\w*|settings)$|(Options|Params|Request|Config|Payload|Input|Dto|Body|Data)$/;
const CALLBACK = /^(callback|cb|done|fn|next|handler|listener)$/;

// What the source calls its parameters: `{a, b}` is an object.
function parameters(method) {
  const source = Function.prototype.toString.call(method);
  const open = source.indexOf("(");
  if (/^(async\s+)?[A-Za-z_$][\w$]*\s*=>/.test(source)) return [/[A-Za-z_$][\w$]*(?=\s*=>)/.exec(source)[0]];
  const found = [];
  let depth = 0;
  let from = open + 1;
  for (let at = open; at < source.length && at >= 0; at++) {
    if ("([{".includes(source[at])) depth++;
    if (")]}".includes(source[at])) depth--;
    if (depth === 0 || (depth === 1 && source[at] === ",")) {
      const one = source.slice(from, at).trim();
      if (one) found.push(one);
      from = at + 1;
    }
    if (depth === 0) break;
  }
  return found.map((one) => (one.startsWith("{") ? "options" : one.replace(/^\.\.\./, "").split(/[\s=]/)[0]));
}

// Ways of filling parameters, the likeliest first.
function fillings(method) {
  const names = parameters(method);
  while (names.length < method.length) names.push(`arg${names.length}`);
  const all = (one) => names.map((name, index) => (CALLBACK.test(name) ? undefined : one(name, index)));
  const firstObject = names.findIndex((name) => OBJECT.test(name));
  return [
    () => all((name, index) => (OBJECT.test(name) ? (index === firstObject ? anything(index) : undefined) : text(name, index))),
    () => all((name, index) => (OBJECT.test(name) ? undefined : text(name, index))),
    () => [anything(0)],
    () => all((name, index) => text(name, index)),
    () => [text(names[0] ?? "id", 0), anything(1)],
    () => [text(names[0] ?? "id", 0), text(names[1] ?? "id", 1), anything(2)],
    () => [{}],
    () => [],
  ];
}

// ---- Methods

const IGNORED = new Set(
  `constructor prototype length name arguments caller apply bind call then catch finally toString toJSON valueOf inspect
  on once off emit addListener removeListener axios http https httpClient logger`.split(/\s+/),
);
// A method that is given the path, the host or the HTTP method requests nothing by itself.
const TRANSPORT = /^\/(v\d+\/?)?\{(path|pathname|url|uri|endpoint|route|options|opts|request|method|input)\}$/;
// What belongs to the language or to Node is no part of a client.
const isTree = (value) =>
  typeof value === "function" ||
  (typeof value === "object" &&
    value !== null &&
    !(Array.isArray(value) || value instanceof Promise || value instanceof http.Agent || ArrayBuffer.isView(value)) &&
    (value.constructor === Object || !isNative(value.constructor)));
const isNative = (made) => typeof made === "function" && /\{\s*\[native code\]\s*\}\s*$/.test(Function.prototype.toString.call(made));

function members(value) {
  const names = new Set();
  for (let at = value; at && at !== Object.prototype && at !== Function.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (/^[A-Za-z$][\w$]*$/.test(name) && !IGNORED.has(name)) names.add(name);
    }
  }
  return [...names].sort();
}

const isAlike = (a, b) => a.constructor === b.constructor && typeof a === "object" && a.constructor !== Object;

function member(value, name) {
  try {
    return value[name];
  } catch {
    return undefined;
  }
}

let sdk;
const make = (expression) => new Function("sdk", `return (${expression});`)(sdk);

// Follows steps from a new client, so that no call sees what another left behind. A step is a name, or a call.
function follow(expression, steps) {
  let owner;
  let value = make(expression);
  steps.forEach((step) => {
    if (step === "()") {
      value = value.apply(owner, fillings(value)[3]());
      owner = undefined;
    } else {
      owner = value;
      value = member(value, step);
    }
  });
  return [owner, value];
}

// One call: the request that it made, or what it gave without one.
function attempt(expression, steps, filling, learned, hidden) {
  return new Promise((resolve) => {
    const call = { request: undefined, texts: [], learned, hidden };
    let given;
    const timer = setTimeout(() => call.done(), PATIENCE);
    call.done = () => {
      clearTimeout(timer);
      resolve({ ...call, given });
    };
    calls.run(call, () => {
      try {
        const [owner, method] = follow(expression, steps);
        call.own = call.texts.length; // Those before belong to calls further up the chain.
        given = method.apply(owner, filling(method));
        const lazy = given?.[Symbol.asyncIterator]?.();
        const waited = typeof given?.then === "function" ? given : lazy?.next?.();
        const settled = (why, after = 0) => {
          call.why ??= why;
          if (!call.request) setTimeout(() => call.request || call.done(), after);
        };
        if (waited) Promise.resolve(waited).then(() => settled("no request"), (error) => settled(String(error?.message ?? error)));
        else if (isTree(given)) settled("no request", 20); // A stream that is handed out before its request is made.
        // Otherwise a request may still follow, in a callback's time.
      } catch (error) {
        call.why = String(error?.message ?? error);
        call.done();
      }
    });
  });
}

const USELESS = /undefined|null|NaN|\[object|%5Bobject|\/\/|%20/;

function described({ request, texts, own }) {
  const used = [];
  const name = (found, ofText, ofNumber) => {
    const index = Number(ofText ?? ofNumber);
    const one = texts[index];
    if (!one) return found;
    if (index >= own) used.push(one);
    return `{${one.name}}`;
  };
  const path = decodeURI(request.path).replace(/zz(\d+)zz|9001(\d{3})/gi, name);
  const objects = used.filter((one) => one.isKey).map((one) => one.argument);
  const keys = objects.length ? Math.min(...objects) : Math.max(-1, ...used.map((one) => one.argument)) + 1;
  const names = [...new Set(used.filter((one) => one.isKey).map((one) => one.name))];
  return { request: { method: request.method, host: request.host, path, keys, field: request.field }, names };
}

// What is requested without the keys that the path took, where that is something else: then a key decides.
async function otherwise({ request, names }, tried) {
  const without = names.length > 1 ? [names, ...names.map((name) => [name])] : names.length ? [names] : [];
  for (const hidden of without) {
    const found = await attempt(tried.expression, tried.steps, tried.filling, tried.learned, new Set(hidden));
    // A path that ends in `/` lacks its last parameter.
    if (!found.request || USELESS.test(found.request.host + found.request.path) || /\/$/.test(found.request.path)) continue;
    const other = described(found).request;
    const erased = ({ method, path }) => `${method} ${path.replace(/\{[^}]*\}/g, "{}")}`;
    if (erased(other) !== erased(request)) return `${other.method} ${other.path}`;
  }
}

let seen = 0;

async function record(queue, { expression, prefix, steps, depth, above }) {
  const chain = [prefix, ...steps].filter(Boolean).join(".").replace(/\.\(\)/g, "()");
  let method;
  try {
    calls.run({ texts: [] }, () => ([, method] = follow(expression, steps)));
  } catch {
    return;
  }
  if (typeof method !== "function") return; // Another client does not have it.
  let best;
  let leads;
  let why;
  for (const filling of fillings(method)) {
    const learned = [];
    let found = await attempt(expression, steps, filling, learned);
    for (let round = 0; round < 5 && !found.request && found.why; round++) {
      const more = lesson(found);
      if (!more.length || learned.length > 200) break;
      learned.push(...more);
      found = await attempt(expression, steps, filling, learned);
    }
    why ??= found.why;
    if (found.request && !USELESS.test(found.request.host + found.request.path)) {
      best = { ...described(found), tried: { expression, steps, filling, learned } };
      break;
    }
    leads ??= !found.request && typeof found.given?.then !== "function" && isTree(found.given) ? found.given : undefined;
    if (Date.now() > deadline) break;
  }
  const what = best?.request;
  const isTransport = what && (TRANSPORT.test(what.path) || /zz\d+zz/i.test(what.host + what.method));
  if (what && !isTransport) queue.requests++;
  const other = what && !isTransport && (await otherwise(best, best.tried));
  if (isTransport) queue.say({ chain, silent: "its arguments say what to request" });
  else if (other) queue.say({ chain, silent: `a key decides: ${what.method} ${what.path}, or ${other}` });
  else if (what) queue.say({ chain, ...what });
  else if (leads && depth < spec.depth && !above.some((known) => isAlike(known, leads))) {
    walk(queue, { expression, prefix, steps: [...steps, "()"], depth: depth + 1, above }, leads);
  } else queue.say({ chain, silent: why ?? "no request" });
}

// Puts every method below a value in the queue. What is something above it, or built like it, is a way back.
function walk(queue, { expression, prefix, steps, depth, above }, value) {
  const inner = [...above, value];
  const isBack = (next) => next === value || above.some((known) => known === next || isAlike(known, next));
  for (const name of members(value)) {
    if (name === "client" && depth > 0) continue;
    const next = member(value, name);
    if (!isTree(next)) continue;
    const at = { expression, prefix, steps: [...steps, name], depth: depth + 1, above: inner };
    const isClass = typeof next === "function" && /^class\b/.test(Function.prototype.toString.call(next));
    if (typeof next === "function" && !isClass) {
      seen++;
      if (queue.waiting.length < queue.most) queue.waiting.push(at);
    }
    if (isClass || depth >= spec.depth || isBack(next) || next === globalThis) continue;
    walk(queue, at, next);
  }
}

// AWS: a command is an exported class; its schema has the route, where the protocol has one.
function commands() {
  for (const [name, Command] of Object.entries(sdk)) {
    const operation = /^([A-Z]\w*)Command$/.exec(name)?.[1];
    if (!operation || typeof Command !== "function") continue;
    let schema;
    try {
      schema = new Command({}).schema;
    } catch {
      continue;
    }
    if (!Array.isArray(schema)) continue;
    const [method, path] = schema[3]?.http ?? ["POST", "/"];
    write({ chain: `send(${name})`, method, host: "", path: path.replace(/\?.*/, ""), keys: 0, field: operation });
    const member = operation[0].toLowerCase() + operation.slice(1);
    write({ chain: member, method, host: "", path: path.replace(/\?.*/, ""), keys: 0, field: operation });
    seen++;
  }
}

// ---- The client, where nobody said how to make one.

const SECRETS = "accessToken apiKey apiToken api_key auth authToken bearerAuth key privateKey secret secretKey token".split(" ");

function guesses() {
  const options = `{${SECRETS.map((key) => `${key}: "key"`).join(", ")}}`;
  const bare = spec.package.replace(/[^a-z]/gi, "").toLowerCase();
  const isOwn = (name) => name.length > 2 && bare.includes(name.replace(/(Client|Api|API|SDK)$/, "").toLowerCase());
  const rank = (name) => (/^HTTP/i.test(name) ? 4 : isOwn(name) ? 0 : name === "default" ? 1 : /(Client|Api|API|SDK)$/.test(name) ? 2 : 3);
  const names = Object.keys(sdk).filter((name) => typeof sdk[name] === "function" && !/(Error|Exception)$/.test(name));
  names.sort((a, b) => rank(a) - rank(b));
  const ways = (name) => [`new sdk.${name}("key")`, `new sdk.${name}(${options})`, `sdk.${name}("key")`, `sdk.${name}(${options})`];
  return names.slice(0, 4).flatMap(ways);
}

// The guess whose first methods request most.
async function guessed() {
  let best;
  for (const expression of guesses()) {
    const requests = await walked(expression, "", SAMPLE, () => {}).catch(() => 0);
    if (requests > (best?.requests ?? 0)) best = { expression, requests };
  }
  seen = 0;
  return best?.expression;
}

async function main() {
  sdk = await import(spec.package);
  if (sdk.default && typeof sdk.default === "object") sdk = { ...sdk.default, ...sdk };
  commands();
  if (seen) return finish({ end: "complete", methods: seen });
  const given = Object.entries(spec.clients);
  if (!given.length) {
    const expression = await guessed();
    if (!expression) return finish({ end: "no_client", why: "none of its exports makes a client whose methods request anything" });
    given.push(["", expression]);
    write({ client: expression });
  }
  for (const [prefix, expression] of given) {
    try {
      await walked(expression, prefix, spec.methods, write);
    } catch (error) {
      return finish({ end: "no_client", why: `${expression}: ${error.message}` });
    }
  }
  const end = Date.now() > deadline ? "out_of_time" : seen > spec.methods ? "too_many" : "complete";
  finish({ end, methods: seen });
}

// Calls what is below a client; how many requested something.
async function walked(expression, prefix, most, say) {
  const client = make(expression);
  if (!isTree(client) || typeof client.then === "function") return 0;
  const queue = { waiting: [], most, requests: 0, say };
  walk(queue, { expression, prefix, steps: [], depth: 0, above: [] }, client);
  let busy = 0;
  let next = 0;
  const worker = async () => {
    while ((next < queue.waiting.length || busy) && Date.now() < deadline) {
      if (next >= queue.waiting.length) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        continue;
      }
      busy++;
      await record(queue, queue.waiting[next++]).finally(() => busy--);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return queue.requests;
}

main().catch((error) => finish({ end: "no_package", why: String(error?.message ?? error) }));
