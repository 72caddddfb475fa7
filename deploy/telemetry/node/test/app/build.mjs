// Builds fixtures/repositories/observed in the ways in which such services are built. Returns the file to run.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build as esbuild } from 'esbuild';
import ts from 'typescript';

const TESTS = path.resolve(path.dirname(new URL(import.meta.url).pathname), '..');
const REPOSITORY = path.resolve(TESTS, '../../../../fixtures/repositories/observed');

export const BUILDS = {
  /** tsc to CommonJS with map files; the one build that checks types, too. */
  commonjs: (folder) => tsc(folder, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS, sourceMap: true, noCheck: false, noResolve: false }),
  /** tsc to ECMAScript modules with map files. */
  esm: (folder) => {
    writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
    return tsc(folder, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022, sourceMap: true });
  },
  /** tsc to ES2015: async functions become generators and helpers; the map is inside the file. */
  es2015: (folder) => tsc(folder, { target: ts.ScriptTarget.ES2015, module: ts.ModuleKind.CommonJS, inlineSourceMap: true }),
  /** esbuild to one file with a map file. */
  esbuild: (folder) => bundle(folder, { sourcemap: true }),
  /** esbuild to one minified file with the map inside. */
  minified: (folder) => bundle(folder, { sourcemap: 'inline', minify: true }),
  /** esbuild of everything into one minified file, SDKs too: no package is seen being loaded, so the client is wrapped by hand. */
  bundled: (folder) => {
    const file = path.join(folder, 'src/payments/stripe.ts');
    const text = readFileSync(file, 'utf8')
      .replace(/$/m, " import { wrapClient } from '@sync/otel-callsites';")
      .replace('return new Stripe(', 'return wrapClient(new Stripe(')
      .replace(/^ {2}\}\);$/m, "  }), { hosts: ['api.stripe.com'] });");
    writeFileSync(file, text);
    return bundle(folder, { sourcemap: 'inline', minify: true, packages: 'bundle' });
  },
  /** One minified file whose map was left behind: its lines are nobody's. */
  unmapped: (folder) => bundle(folder, { minify: true }),
};

export async function build(name) {
  const folder = path.join(TESTS, '.work', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(path.join(REPOSITORY, 'src'), path.join(folder, 'src'), { recursive: true });
  return BUILDS[name](folder);
}

function tsc(folder, options) {
  const source = path.join(folder, 'src');
  const files = readdirSync(source, { recursive: true }).filter((name) => name.endsWith('.ts')).map((name) => path.join(source, name));
  const program = ts.createProgram(files, {
    strict: true,
    skipLibCheck: true,
    esModuleInterop: true,
    isolatedModules: true,
    noCheck: true,
    noResolve: true,
    moduleResolution: ts.ModuleResolutionKind.Node10,
    types: options.noResolve === false ? ['node'] : [],
    typeRoots: [path.join(TESTS, 'node_modules/@types')],
    rootDir: source,
    outDir: path.join(folder, 'dist'),
    ...options,
  });
  const found = options.noCheck === false ? ts.getPreEmitDiagnostics(program) : [];
  if (found.length > 0) {
    throw new Error(ts.formatDiagnostics(found, { getCanonicalFileName: (name) => name, getCurrentDirectory: () => folder, getNewLine: () => '\n' }));
  }
  program.emit();
  return path.join(folder, 'dist/main.js');
}

async function bundle(folder, options) {
  const outfile = path.join(folder, 'dist/bundle.js');
  await esbuild({
    entryPoints: [path.join(folder, 'src/main.ts')],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'cjs',
    target: 'node18',
    logLevel: 'error',
    ...options,
  });
  return outfile;
}
