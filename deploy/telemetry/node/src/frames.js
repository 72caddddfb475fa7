'use strict';

const path = require('node:path');
const { fileURLToPath } = require('node:url');
const { originalPosition, THIRD_PARTY, UNSURE, writtenAsAwaitedCall, writtenAsCall } = require('./sourcemaps');

/** Plain `fetch` alone puts the caller at frame 26 to 29: V8's default of 10 never gets there. */
const DEPTH = 64;

/** The files of this package, where they are files: inside a bundle its map says what is whose. */
const OWN = typeof __filename === 'string' && path.basename(__filename) === 'frames.js' ? path.dirname(__filename) + path.sep : undefined;

/** Positions are few and asked for again and again; the bound is for programs that make code at run time. */
const MOST_POSITIONS = 10_000;
const positions = new Map();

/** Call sites of the current stack, from the caller of `below` outwards. `below` must be running. */
function capture(below) {
  const prepare = Error.prepareStackTrace;
  const limit = Error.stackTraceLimit;
  try {
    Error.prepareStackTrace = (_error, sites) => sites;
    Error.stackTraceLimit = DEPTH;
    const holder = {};
    Error.captureStackTrace(holder, below);
    return Array.isArray(holder.stack) ? holder.stack : [];
  } catch {
    // Frozen intrinsics: nothing can be read, so nothing is said.
    return [];
  } finally {
    try {
      Error.prepareStackTrace = prepare;
      Error.stackTraceLimit = limit;
    } catch {
      // As above: then nothing was changed either.
    }
  }
}

/**
 * The nearest frame that is the application's own, or undefined: there is none, or it is not sure which line it is.
 * With `awaited`, frames of functions that await the running code count too.
 */
function nearest(sites, awaited) {
  for (const site of sites) {
    const isAwait = site.isAsync?.() === true;
    if (isAwait && (!awaited || !site.getFileName())) {
      // Without a file it is `Promise.all` and its kind: which of the elements it was cannot be told.
      return undefined;
    }
    const found = locate(site, isAwait);
    if (found === UNSURE) return undefined;
    if (found) return found;
  }
  return undefined;
}

/** Where a frame is in the code as it was written; null for code of others, UNSURE where that cannot be told. */
function locate(site, isAwait) {
  let file = site.getFileName();
  const line = site.getLineNumber();
  const column = site.getColumnNumber();
  if (!file || !line || !column || site.isNative() || site.isEval()) return null;
  const key = `${isAwait ? 'await ' : ''}${file}:${line}:${column}`;
  const known = positions.get(key);
  if (known !== undefined) return known;
  if (file.startsWith('file:')) file = fileURLToPath(file);
  const others = !path.isAbsolute(file) || (OWN && file.startsWith(OWN)) || THIRD_PARTY.test(file);
  const found = others ? null : written(file, line, column, isAwait, site);
  if (positions.size >= MOST_POSITIONS) positions.clear();
  positions.set(key, found);
  return found;
}

function written(file, line, column, isAwait, site) {
  const original = originalPosition(file, line, column);
  if (original === null || original === UNSURE) return original;
  if (THIRD_PARTY.test(original.file)) return null;
  if (isAwait && !writtenAsAwaitedCall(original)) return UNSURE;
  if (original.mapped) return { file: original.file, line: original.line, column: original.column };
  // Code that a hook compiled in memory runs under the name of a file that has other lines.
  if (!isAwait && !writtenAsCall(original)) return UNSURE;
  const name = site.getFunctionName();
  // Names of mapped code may be a minifier's: they are left out there.
  return { file, line, column, function: name || undefined };
}

module.exports = { capture, nearest };
