// The parts by themselves, as they are installed: facades that change nothing, maps that mislead, hosts that look alike.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import vm from 'node:vm';
import { context, ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import { CallSiteSpanProcessor, wrapClient } from '@sync/otel-callsites';

const require = createRequire(import.meta.url);
const HERE = path.dirname(new URL(import.meta.url).pathname);
const PACKAGE = path.join(HERE, 'node_modules/@sync/otel-callsites/src');
const { hostOf, isAmong } = require(path.join(PACKAGE, 'hosts.js'));
const { instrumentExports } = require(path.join(PACKAGE, 'instrument.js'));
const { AsyncLocalStorageContextManager } = require('otel3-context');

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

const HOSTS = { hosts: ['api.example.com'] };
const WORK = path.join(HERE, '.work/unit');
mkdirSync(WORK, { recursive: true });

/** A span as the SDKs show it to processors. */
function span(attributes = { 'server.address': 'api.example.com' }, kind = SpanKind.CLIENT) {
  return { kind, attributes: { ...attributes }, setAttributes(more) { Object.assign(this.attributes, more); return this; } };
}

/** The attributes of a span that starts here and now. */
function started(attributes, kind, options) {
  const made = span(attributes, kind);
  new CallSiteSpanProcessor(options).onStart(made, context.active());
  return made.attributes;
}

test('a span names the line on the stack, with column and function', () => {
  const { 'server.address': _, ...attributes } = started();
  const lines = readFileSync(new URL(import.meta.url), 'utf8').split('\n');
  const text = lines[attributes['code.line.number'] - 1];
  assert.equal(text.slice(attributes['code.column.number'] - 1), 'onStart(made, context.active());');
  delete attributes['code.line.number'];
  delete attributes['code.column.number'];
  assert.deepEqual(attributes, {
    'code.file.path': path.join(HERE, 'unit.test.mjs'),
    'code.function.name': 'started',
    'sync.callsite.via': 'stack',
  });
});

test('only clients and producers, never what another has located, never a database', () => {
  for (const kind of [SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CONSUMER]) assert.deepEqual(started({}, kind), {});
  assert.equal('code.line.number' in started({}, SpanKind.PRODUCER), true);
  for (const key of ['code.filepath', 'code.file.path', 'code.lineno', 'code.function', 'code.stacktrace', 'db.system', 'db.system.name']) {
    assert.deepEqual(started({ [key]: 'x' }), { [key]: 'x' });
  }
});

test('the processor never throws, whatever a span is', () => {
  const processor = new CallSiteSpanProcessor();
  const broken = { kind: SpanKind.CLIENT, get attributes() { throw new Error('broken'); } };
  for (const value of [broken, { kind: SpanKind.CLIENT }, { kind: SpanKind.CLIENT, attributes: null }, {}]) {
    processor.onStart(value, ROOT_CONTEXT);
    processor.onStart(value, undefined);
  }
  processor.onEnd(broken);
});

test('the processor ends as the SDK expects', async () => {
  const processor = new CallSiteSpanProcessor();
  assert.equal(await processor.forceFlush(), undefined);
  assert.equal(await processor.shutdown(), undefined);
});

test('hosts: exact or below, whatever port and scheme, and nothing that only looks like it', () => {
  assert.equal(hostOf('https://API.example.com:8443/v1?x'), 'api.example.com');
  assert.equal(hostOf('api.example.com:443'), 'api.example.com');
  assert.equal(hostOf(new URL('http://127.0.0.1:9')), '127.0.0.1');
  for (const value of [undefined, null, 5, '', 'http://', {}]) assert.equal(hostOf(value), undefined);
  assert.equal(isAmong('api.example.com', ['API.example.com']), true);
  assert.equal(isAmong('a.example.com', ['*.example.com']), true);
  for (const host of ['example.com', 'evilexample.com', 'api.example.com.evil.org', undefined]) assert.equal(isAmong(host, ['*.example.com']), false);
});

test('a facade gives what the client gives: private members, accessors, identity, frozen members', async () => {
  class Client {
    #secret = 1;

    frozen = undefined;

    constructor() {
      Object.defineProperty(this, 'frozen', { value: { ask: () => 'frozen' } });
      this.self = this;
      this.list = [1];
      this.when = new Date(0);
    }

    get secret() { return this.#secret; }

    set secret(value) { this.#secret = value; }

    add(more) { this.#secret += more; return this; }

    async later() { return this.#secret; }

    toJSON() { return { secret: this.#secret }; }

    async* [Symbol.asyncIterator]() { yield this.#secret; }

    fail() { throw new RangeError('its own'); }

    static of() { return new Client(); }
  }
  const client = new Client();
  const facade = wrapClient(client, HOSTS);
  assert.notEqual(facade, client);
  assert.equal(wrapClient(client, HOSTS), facade);
  assert.equal(wrapClient(facade, HOSTS), facade);
  facade.secret = 5;
  assert.equal(facade.secret, 5);
  assert.equal(facade.add(2), facade);
  assert.equal(await facade.later(), 7);
  assert.equal(JSON.stringify(facade), '{"secret":7}');
  for await (const value of facade) assert.equal(value, 7);
  assert.equal(facade.constructor, Client);
  assert.ok(facade instanceof Client);
  assert.equal(facade.later, facade.later);
  assert.equal(facade.frozen.ask(), 'frozen');
  assert.equal(facade.list, client.list);
  assert.equal(facade.when.getTime(), 0);
  assert.throws(() => facade.fail(), (error) => error instanceof RangeError && error.message === 'its own');
  assert.deepEqual(Object.keys(facade), Object.keys(client));
});

test('a facade is no client without hosts, and no other value becomes one', () => {
  const client = { ask() {} };
  for (const options of [undefined, {}, { hosts: [] }, { hosts: 'api.example.com' }]) assert.equal(wrapClient(client, options), client);
  for (const value of [null, undefined, 5, 'x', [], new Map(), new Date(0)]) assert.equal(wrapClient(value, HOSTS), value);
});

test('what a client is given is its own again: facades, and listeners that can be taken away', () => {
  const seen = [];
  const raw = { part: {}, on: (f) => { seen.push(f); }, off: (f) => { seen.splice(seen.indexOf(f), 1); }, holds: (part) => part === raw.part };
  const facade = wrapClient(raw, HOSTS);
  assert.equal(facade.holds(facade.part), true);
  const listener = Object.assign(function named(value) { return [this, value]; }, { tag: 1 });
  facade.on(listener);
  assert.equal(seen[0].tag, 1);
  assert.equal(seen[0].name, 'named');
  assert.deepEqual(Reflect.apply(seen[0], 'this', ['value']), ['this', 'value']);
  facade.off(listener);
  assert.equal(seen.length, 0);
});

test('a map that cannot be read, and lines that are not the file\'s: nothing is said', () => {
  const run = (name, onDisk, code = onDisk) => {
    const file = path.join(WORK, name);
    writeFileSync(file, onDisk);
    return vm.runInThisContext(Module.wrap(code), { filename: file }).call({}, {}, require, {}, file)?.();
  };
  const ask = 'return () => asked();\nfunction asked() {\n  return globalThis.locatedHere(new Error().stack);\n}\n';
  const { capture, nearest } = require(path.join(PACKAGE, 'frames.js'));
  globalThis.locatedHere = function locatedHere() { return nearest(capture(locatedHere), false); };
  const good = run('plain.js', ask);
  assert.equal(good.line, 3);
  assert.equal(good.function, 'asked');
  // Compiled in memory: what runs is not what the file holds.
  assert.equal(run('memory.js', '// one\n// two\n// three\n', ask), undefined);
  // TypeScript that something compiled on the fly, without a map.
  assert.equal(run('typed.ts', ask), undefined);
  // A map that is no map.
  writeFileSync(path.join(WORK, 'broken.js.map'), '{');
  assert.equal(run('broken.js', `${ask}//# sourceMappingURL=broken.js.map\n`), undefined);
  // A text that only speaks of maps.
  assert.equal(run('speaks.js', `${ask}const text = "sourceMappingURL=nothing.map";\n`).line, 3);
  // A map that was left behind: the generated file itself.
  assert.equal(run('left.js', `${ask}//# sourceMappingURL=left-behind.map\n`).file, path.join(WORK, 'left.js'));
  // A map with a root, of a path with a space.
  const map = { version: 3, sourceRoot: '../src', sources: ['a file.ts'], names: [], mappings: ';;AAAA' };
  writeFileSync(path.join(WORK, 'rooted.js.map'), JSON.stringify(map));
  assert.deepEqual(run('rooted.js', `${ask}//# sourceMappingURL=rooted.js.map\n`), { file: path.join(WORK, '../src/a file.ts'), line: 1, column: 1 });
  // A map whose original is a package's code: not the application's.
  const third = { version: 3, sources: ['../node_modules/sdk/index.js'], names: [], mappings: ';;AAAA' };
  writeFileSync(path.join(WORK, 'third.js'), '');
  assert.notEqual(run('third.js', `${ask}//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(third)).toString('base64')}\n`)?.line, 3);
  delete globalThis.locatedHere;
});

test('awaiting frames count only when asked for, and only where a call is awaited', async () => {
  const options = { asyncFrames: true };
  // Code of a package, whose frame is none of the application.
  const folder = path.join(WORK, 'node_modules/sdk');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'index.js'), 'exports.call = async (f) => { await null; await null; return f(); };');
  const { call } = require(path.join(folder, 'index.js'));
  const made = () => span();
  // The processor itself is what the package calls: no frame of this file is on the stack then.
  const ask = (target, chosen) => call(Reflect.apply.bind(null, CallSiteSpanProcessor.prototype.onStart, new CallSiteSpanProcessor(chosen), [target, ROOT_CONTEXT]));
  const without = made();
  await ask(without);
  assert.equal(without.attributes['code.line.number'], undefined);
  const awaited = made();
  await ask(awaited, options);
  assert.equal(awaited.attributes['sync.callsite.via'], 'async-stack');
  const before = made();
  const promise = ask(before, options);
  await promise;
  assert.equal(before.attributes['code.line.number'], undefined);
  const beside = made();
  await Promise.all([ask(beside, options)]);
  assert.equal(beside.attributes['code.line.number'], undefined);
});

test('exports of a package: the original stays as it is, bindings stay alive, classes keep what they are', () => {
  class Stripe {
    #key;

    constructor(key) { this.#key = key; }

    key() { return this.#key; }

    static version = 1;

    static derive() { return class extends this {}; }

    static Inner = class {};
  }
  const original = { Stripe, other: 1 };
  const exports = instrumentExports('stripe', original);
  assert.equal(instrumentExports('stripe', original), exports);
  assert.equal(instrumentExports('stripe', exports), exports);
  assert.equal(original.Stripe, Stripe);
  original.other = 2;
  assert.equal(exports.other, 2);
  const client = new exports.Stripe('key');
  assert.equal(client.key(), 'key');
  assert.ok(client instanceof exports.Stripe && client instanceof Stripe);
  assert.equal(exports.Stripe.version, 1);
  assert.equal(exports.Stripe.Inner, Stripe.Inner);
  assert.equal(exports.Stripe.name, 'Stripe');
  assert.equal(new (exports.Stripe.derive())('derived').key(), 'derived');
  class Mine extends exports.Stripe {
    #own = 2;

    own() { return this.#own; }
  }
  assert.equal(new Mine('mine').own(), 2);
  assert.equal(new Mine('mine').key(), 'mine');
  assert.throws(() => exports.Stripe('key'), TypeError);
  for (const value of [null, undefined, 5]) assert.equal(instrumentExports('stripe', value), value);
});

test('a package that exports a client, made: the client is wrapped, its class beside it', async () => {
  class MailService {
    #key;

    setApiKey(key) { this.#key = key; }

    key() { return this.#key; }
  }
  const original = Object.assign(new MailService(), { MailService });
  const mail = instrumentExports('@sendgrid/mail', original);
  assert.notEqual(mail, original);
  mail.setApiKey('key');
  assert.equal(mail.key(), 'key');
  assert.equal(original.key(), 'key');
  mail.added = 1;
  assert.equal(original.added, 1);
  assert.ok(new mail.MailService() instanceof MailService);
});
