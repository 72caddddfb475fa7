// Runs on Node's loader thread. Where a package of the table is imported by its name, a module takes its place that
// exports all the original does, its clients wrapped.
import { readFileSync } from 'node:fs';

const MARK = 'sync-otel-callsites';
const packages = new Map(Object.entries(JSON.parse(readFileSync(new URL('./clients.json', import.meta.url), 'utf8'))));

export async function resolve(specifier, context, nextResolve) {
  const found = await nextResolve(specifier, context);
  if (!packages.has(specifier) || !found.url.startsWith('file:') || found.url.includes(MARK)) return found;
  const url = new URL(found.url);
  url.searchParams.set(MARK, specifier);
  return { ...found, url: url.href, format: 'module', shortCircuit: true };
}

export async function load(url, context, nextLoad) {
  const name = url.includes(MARK) ? new URL(url).searchParams.get(MARK) : null;
  const row = name === null ? undefined : packages.get(name);
  if (row === undefined) return nextLoad(url, context);
  const original = new URL(url);
  original.searchParams.delete(MARK);
  const names = new Set(row.exports);
  // `export *` leaves the default export out, and what is not there cannot be exported.
  if (await hasDefault(original.href, context, nextLoad)) names.add('default');
  else names.delete('default');
  return { format: 'module', source: standIn(name, [...names], original.href), shortCircuit: true };
}

const DEFAULT = /\bexport\s+default\b|\bas\s+default\b|\bexport\s*\{[^}]*\bdefault\b/;

async function hasDefault(url, context, nextLoad) {
  const { format, source } = await nextLoad(url, { ...context, format: undefined });
  return format !== 'module' || DEFAULT.test(String(source));
}

/** A name that is exported here stands before the same name out of `export *`. */
function standIn(name, names, original) {
  const own = new URL('./namespace.mjs', import.meta.url).href;
  return [
    `import * as original from ${JSON.stringify(original)};`,
    `import { instrumentNamespace } from ${JSON.stringify(own)};`,
    `const clients = instrumentNamespace(${JSON.stringify(name)}, original);`,
    `export * from ${JSON.stringify(original)};`,
    ...names.map((key, at) => `const client${at} = clients[${JSON.stringify(key)}];\nexport { client${at} as ${key} };`),
  ].join('\n');
}
