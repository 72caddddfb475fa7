// Programs whose requests are marked: `// @name` at the line that a span must name.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { collector } from '../app/collector.mjs';
import { run } from '../app/run.mjs';

const HERE = path.dirname(new URL(import.meta.url).pathname);

/** A package of others that asks at once, or when its caller is no longer on the stack. */
const DEFERRED = `
exports.now = (url) => fetch(url);
exports.later = async (url) => { await null; return fetch(url); };
`;

/** Packages of the table as they come: CommonJS that is imported, modules without a default export. */
const PACKAGES = {
  deferred: ['index.js', DEFERRED],
  plaid: ['index.js', 'exports.PlaidApi = class PlaidApi {}; exports.other = 1;'],
  dub: ['index.mjs', 'export class Dub {}\nexport const other = 1;\n'],
};

/** The program in a folder of its own, with those packages beside it. */
export function caseFolder(program) {
  const folder = path.join(HERE, '../.work/cases', program);
  rmSync(folder, { recursive: true, force: true });
  for (const [name, [main, text]] of Object.entries(PACKAGES)) {
    const place = path.join(folder, 'node_modules', name);
    mkdirSync(place, { recursive: true });
    writeFileSync(path.join(place, 'package.json'), JSON.stringify({ name, main }));
    writeFileSync(path.join(place, main), text);
  }
  cpSync(path.join(HERE, program), path.join(folder, program));
  return path.join(folder, program);
}

/** Line number → mark. */
export function marksOf(file) {
  return new Map(readFileSync(file, 'utf8').split('\n').flatMap((text, at) => {
    const mark = /\/\/ @([\w-]+)/.exec(text);
    return mark ? [[at + 1, mark[1]]] : [];
  }));
}

/** Client and producer spans of each case, which begins with a span \`db.system: mark\` of its name. */
export async function spansOfCase(file, options = {}) {
  const kept = await collector();
  try {
    const { code, output } = await run(file, { ...options, env: { ...options.env, OTEL_EXPORTER_OTLP_ENDPOINT: kept.endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' } });
    assert.equal(code, 0, output);
    const cases = new Map();
    let current;
    for (const span of kept.spans()) {
      if (span['db.system'] === 'mark') cases.set(span.name, current = []);
      else if (span['code.filepath'] === undefined && span['code.function.name'] !== 'mine' && span['db.system.name'] === undefined) current.push(span);
      else assert.equal(span['code.line.number'], undefined);
    }
    return cases;
  } finally {
    await kept.close();
  }
}
