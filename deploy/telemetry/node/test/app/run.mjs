// Builds the application (build.mjs) and runs it, instrumented as a team would do it, against the stand-in.
//
//   node run.mjs BUILD [--bodies FOLDER] [--node PROGRAM] [--otel 1|2|3] [--by register|require|processor]
//
// BUILD: commonjs, esm, es2015, esbuild, minified, bundled, unmapped (see build.mjs). Spans go where
// OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS and _PROTOCOL (http/protobuf, http/json) say; OTEL_RESOURCE_ATTRIBUTES and
// OTEL_SERVICE_NAME are the application's. With --bodies the export's bodies are written to FOLDER instead of being
// sent. Exits with the application's code.
// The lines that must be found: fixtures/repositories/observed.expected.json.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build, BUILDS } from './build.mjs';
import { collector } from './collector.mjs';
import { install } from './install.mjs';
import { standIn } from './stand-in.mjs';

const HERE = path.dirname(new URL(import.meta.url).pathname);

/** Runs `file` to its end; `first` and `preload` are loaded before all others, and right before it. Resolves to { code, output }. */
export async function run(file, { node = process.execPath, otel = '2', by = 'register', env = {}, first = [], preload = [] } = {}) {
  const vendors = await standIn();
  const register = pathToFileURL(path.join(HERE, '../node_modules/@sync/otel-callsites/src/register.mjs')).href;
  const flags = [
    ...['loopback.cjs'].flatMap((name) => ['-r', path.join(HERE, name)]),
    ...first.flatMap((name) => ['--import', pathToFileURL(name).href]),
    // Before OpenTelemetry is set up, as the README says.
    ...(by === 'register' ? ['--import', register] : []),
    ...(by === 'require' ? ['-r', path.join(HERE, '../node_modules/@sync/otel-callsites/src/register.js')] : []),
    '--import', pathToFileURL(path.join(HERE, 'telemetry.cjs')).href,
    ...preload.flatMap((name) => ['--import', pathToFileURL(name).href]),
  ];
  try {
    const child = spawn(node, [...flags, file], {
      env: {
        ...process.env,
        STAND_IN_PORT: String(vendors.port),
        STRIPE_SECRET_KEY: 'sk_test_123',
        OTEL_MAJOR: otel,
        ...(by === 'processor' ? { WITH_PROCESSOR: '1' } : {}),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => { output += chunk; });
    child.stderr.on('data', (chunk) => { output += chunk; });
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
    return { code, output };
  } finally {
    await vendors.close();
  }
}

async function main() {
  const { values, positionals: [name] } = parseArgs({
    allowPositionals: true,
    options: { bodies: { type: 'string' }, node: { type: 'string' }, otel: { type: 'string' }, by: { type: 'string' } },
  });
  if (!(name in BUILDS)) throw new Error(`BUILD is one of ${Object.keys(BUILDS).join(', ')}`);
  install();
  const kept = values.bodies === undefined ? undefined : await collector();
  const file = await build(name);
  const { code, output } = await run(file, {
    ...Object.fromEntries(['node', 'otel', 'by'].flatMap((key) => (values[key] ? [[key, values[key]]] : []))),
    env: kept ? { OTEL_EXPORTER_OTLP_ENDPOINT: kept.endpoint } : {},
  });
  process.stdout.write(output);
  if (kept) {
    mkdirSync(values.bodies, { recursive: true });
    kept.bodies.forEach(({ type, body }, at) => {
      writeFileSync(path.join(values.bodies, `${name}-${at}.${type === 'application/json' ? 'json' : 'pb'}`), body);
    });
    await kept.close();
  }
  process.exitCode = code;
}

if (process.argv[1] === new URL(import.meta.url).pathname) await main();
