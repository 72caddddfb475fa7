// Where a package of the table is imported by its name, a module takes its place that exports all the original does, its
// clients wrapped. The same hooks twice: in the program's own thread where Node can do that well (26), and as functions
// that wait, which run on Node's loader thread.
import { readFileSync } from 'node:fs';

const MARK = 'sync-otel-callsites';
const packages = new Map(Object.entries(JSON.parse(readFileSync(new URL('./clients.json', import.meta.url), 'utf8'))));

export async function resolve(specifier, context, nextResolve) {
  return resolved(specifier, await nextResolve(specifier, context));
}

export async function load(url, context, nextLoad) {
  const wanted = behind(url);
  return wanted ? standIn(wanted, await nextLoad(wanted.original, { ...context, format: undefined })) : nextLoad(url, context);
}

export const hooks = {
  resolve(specifier, context, nextResolve) {
    const found = nextResolve(specifier, context);
    // `require` comes by here too, and has its own hook.
    return context.conditions?.includes('import') ? resolved(specifier, found) : found;
  },
  load(url, context, nextLoad) {
    const wanted = behind(url);
    return wanted ? standIn(wanted, nextLoad(wanted.original, { ...context, format: undefined })) : nextLoad(url, context);
  },
};

function resolved(specifier, found) {
  if (!packages.has(specifier) || !found.url.startsWith('file:') || found.url.includes(MARK)) return found;
  const url = new URL(found.url);
  url.searchParams.set(MARK, specifier);
  return { ...found, url: url.href, format: 'module', shortCircuit: true };
}

/** The package whose stand-in is at this URL, and where the original is. */
function behind(url) {
  const name = url.includes(MARK) ? new URL(url).searchParams.get(MARK) : null;
  const row = name === null ? undefined : packages.get(name);
  if (row === undefined) return undefined;
  const original = new URL(url);
  original.searchParams.delete(MARK);
  return { name, row, original: original.href };
}

const DEFAULT = /\bexport\s+default\b|\bas\s+default\b|\bexport\s*\{[^}]*\bdefault\b/;

/** The module itself. A name that is exported here stands before the same name out of `export *`. */
function standIn({ name, row, original }, { format, source }) {
  const names = new Set(row.exports);
  // `export *` leaves the default export out, and what is not there cannot be exported.
  if (format !== 'module' || DEFAULT.test(text(source))) names.add('default');
  else names.delete('default');
  const own = new URL('./namespace.mjs', import.meta.url).href;
  const lines = [
    `import * as original from ${JSON.stringify(original)};`,
    `import { instrumentNamespace } from ${JSON.stringify(own)};`,
    `const clients = instrumentNamespace(${JSON.stringify(name)}, original);`,
    `export * from ${JSON.stringify(original)};`,
    ...[...names].map((key, at) => `const client${at} = clients[${JSON.stringify(key)}];\nexport { client${at} as ${key} };`),
  ];
  return { format: 'module', source: lines.join('\n'), shortCircuit: true };
}

function text(source) {
  return typeof source === 'string' ? source : Buffer.from(source ?? '').toString();
}
