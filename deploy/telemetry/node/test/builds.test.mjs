// The application of fixtures/repositories/observed, in every build, under each Node and each major of OpenTelemetry:
// every one of its 24 requests must name exactly its line.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { build } from './app/build.mjs';
import { collector } from './app/collector.mjs';
import { run } from './app/run.mjs';

const HERE = path.dirname(new URL(import.meta.url).pathname);
const { sites } = JSON.parse(readFileSync(path.join(HERE, '../../../../fixtures/repositories/observed.expected.json'), 'utf8'));

const CHARGES = 'src/payments/charges.ts';
const PLAIN = 'src/payments/plain.ts';

/** [method, path, file, line, via], in the order in which the requests start. */
const BY_STRIPE = [
  ['POST', '/v1/charges', CHARGES, 12, 'facade'],
  ['POST', '/v1/charges', CHARGES, 18, 'facade'],
  ['POST', '/v1/charges', CHARGES, 23, 'facade'],
  ['POST', '/v1/charges', CHARGES, 28, 'facade'],
  ['POST', '/v1/customers', CHARGES, 29, 'facade'],
  ['GET', '/v1/customers/cus_123', CHARGES, 36, 'facade'],
  ['POST', '/v1/charges', CHARGES, 37, 'facade'],
  ['POST', '/v1/charges', CHARGES, 42, 'facade'],
  ['GET', '/v1/charges', CHARGES, 49, 'facade'],
  // The second page, fetched by the loop.
  ['GET', '/v1/charges', CHARGES, 49, 'facade'],
];
const EXPECTED = [
  ...BY_STRIPE,
  ...BY_STRIPE,
  ['GET', '/v1/refunds', PLAIN, 6, 'stack'],
  ['GET', '/v1/balance', PLAIN, 13, 'stack'],
  ['GET', '/v1/events', PLAIN, 26, 'stack'],
  ['GET', '/v1/payouts', PLAIN, 31, 'facade'],
];

/** What a processor says that stands alone: what is on the stack, and of the SDK's requests nothing. */
const BY_STACK = EXPECTED.map(([method, address, file, line, via]) => (
  via === 'stack' ? [method, address, file, line, via] : [method, address, undefined, undefined, undefined]
));

const NODES = Object.fromEntries(['18', '22', '24'].map((major) => [major, path.join(HERE, `node_modules/node${major}/bin/node`)]));
NODES[process.versions.node.split('.')[0]] = process.execPath;

const RUNS = [
  ...['commonjs', 'esm', 'es2015', 'esbuild', 'minified'].map((name) => [name, '20', '2']),
  ...['commonjs', 'esm', 'es2015', 'esbuild', 'minified'].map((name) => [name, '24', '3']),
  ...['commonjs', 'esm'].flatMap((name) => [['18', '1'], ['18', '2'], ['20', '1'], ['22', '2'], ['22', '3'], ['24', '2']].map(([node, otel]) => [name, node, otel])),
];

const folders = new Map();

async function built(name) {
  if (!folders.has(name)) folders.set(name, build(name));
  return folders.get(name);
}

async function spansOf(file, options) {
  const kept = await collector();
  try {
    const { code, output } = await run(file, { ...options, env: { OTEL_EXPORTER_OTLP_ENDPOINT: kept.endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' } });
    assert.equal(code, 0, output);
    assert.equal(output, '');
    return kept.spans();
  } finally {
    await kept.close();
  }
}

/** Puts the two requests of `Promise.all`, which may start in the same instant, in the order in which they are written. */
function summaries(spans, root) {
  const found = spans.map((span) => summary(span, root));
  for (const at of [3, BY_STRIPE.length + 3]) {
    const pair = found.slice(at, at + 2);
    found.splice(at, pair.length, ...pair.sort(([, one], [, other]) => (one < other ? -1 : 1)));
  }
  return found;
}

function summary(span, root) {
  const file = span['code.file.path'];
  const { pathname } = new URL(span['url.full'] ?? span['http.url']);
  return [
    span['http.request.method'] ?? span['http.method'],
    pathname,
    file && path.relative(root, file),
    span['code.line.number'],
    span['sync.callsite.via'],
  ];
}

test('the expected table and the expected sites say the same', () => {
  assert.deepEqual(
    sites.map(({ file, line, spans }) => [file, line, spans]),
    sites.map(({ file, line }) => [file, line, EXPECTED.filter((row) => row[2] === file && row[3] === line).length]),
  );
  assert.equal(sites.reduce((sum, { spans }) => sum + spans, 0), EXPECTED.length);
});

for (const [name, node, otel] of RUNS) {
  const program = NODES[node];
  // The program of a Node comes with the tests' packages, for Linux on x64 only.
  const skip = program && existsSync(program) ? false : `Node ${node} is not here`;
  test(`${name} on Node ${node} with OpenTelemetry ${otel}`, { skip }, async () => {
    const file = await built(name);
    const root = path.join(HERE, '.work', name);
    const found = summaries(await spansOf(file, { node: program, otel }), root);
    assert.deepEqual(found, EXPECTED);
  });
}

test('required before the program: CommonJS is located as well', async () => {
  const file = await built('commonjs');
  const found = summaries(await spansOf(file, { by: 'require' }), path.join(HERE, '.work/commonjs'));
  assert.deepEqual(found, EXPECTED);
});

test('SDKs inside the bundle: the client wrapped by hand has its lines, got has none', async () => {
  const file = await built('bundled');
  const found = summaries(await spansOf(file, { by: 'processor' }), path.join(HERE, '.work/bundled'));
  assert.deepEqual(found, [...EXPECTED.slice(0, -1), ['GET', '/v1/payouts', undefined, undefined, undefined]]);
});

for (const otel of ['1', '2']) {
  test(`the processor alone, with OpenTelemetry ${otel}: what it does not see it does not guess`, async () => {
    const file = await built('commonjs');
    const root = path.join(HERE, '.work/commonjs');
    const found = summaries(await spansOf(file, { otel, by: 'processor' }), root);
    assert.deepEqual(found, BY_STACK);
  });
}

test('a bundle without its map names itself, never a source file', async () => {
  const file = await built('unmapped');
  const found = await spansOf(file, {});
  assert.equal(found.length, EXPECTED.length);
  assert.deepEqual(new Set(found.map((span) => span['code.file.path'])), new Set([file]));
});
