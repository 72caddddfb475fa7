'use strict';

const fs = require('node:fs');
const path = require('node:path');
const Module = require('node:module');
const { fileURLToPath } = require('node:url');

/** The position cannot be told: said instead of a guess. */
const UNSURE = Symbol('unsure');

/** A map beyond this size would stall the first request longer than its line is worth. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Code of packages, wherever a package manager keeps it. */
const THIRD_PARTY = /[\\/](?:node_modules|\.yarn|\.pnpm|bower_components)[\\/]/;

const maps = new Map();

/**
 * The position as written (lines and columns from 1): through the file's source map if it has one, whether or not
 * Node was told to use source maps. null where the map has nothing for this position: then it is a compiler's helper.
 */
function originalPosition(file, line, column) {
  let map = maps.get(file);
  if (map === undefined) {
    try {
      map = load(file);
    } catch {
      // A map that is there and cannot be read: the lines of the generated file would mislead.
      map = UNSURE;
    }
    maps.set(file, map);
  }
  if (map === UNSURE) return UNSURE;
  if (map === null) return linesAreAsWritten(file) ? { file, line, column, mapped: false } : UNSURE;
  const entry = map.findEntry(line - 1, column - 1);
  // The nearest mapping before may stand on an earlier line, where it speaks of other code.
  if (!entry || entry.originalSource == null || entry.generatedLine !== line - 1) return null;
  return {
    file: pathOf(entry.originalSource),
    line: entry.originalLine + 1,
    column: entry.originalColumn + 1,
    mapped: true,
    text: map.texts?.get(entry.originalSource),
  };
}

/** TypeScript without a map has its own lines only where Node itself strips the types. */
function linesAreAsWritten(file) {
  if (!/\.[cm]?tsx?$/.test(file)) return true;
  return process.features.typescript === 'strip' && !process[Symbol.for('ts-node.register.instance')];
}

/** The comment that closes a generated file; after it only comments. In the middle of a file it is a text about maps. */
const LINK = /^(?:.?\/\/|\/\*)[#@] ?sourceMappingURL=([^\s'"`*]+)(?:[ \t]*\*\/)?(?:\s|\/\/[^\n]*(?:\n|$))*$/s;

function load(file) {
  const known = Module.findSourceMap?.(file);
  if (known) return known;
  if (!Module.SourceMap) return null;
  const text = read(file);
  if (text === null) return null;
  const url = LINK.exec(text.slice(Math.max(0, text.lastIndexOf('sourceMappingURL=') - 4)))?.[1];
  if (!url) return null;
  const inline = /^data:[^,]*?(;base64)?,/.exec(url);
  const mapFile = inline ? file : path.resolve(path.dirname(file), decode(url));
  const body = inline
    ? Buffer.from(inline[1] ? url.slice(inline[0].length) : decode(url.slice(inline[0].length)), inline[1] ? 'base64' : 'utf8').toString()
    : read(mapFile);
  // The file says that it is generated, and its map is not here.
  if (body === null) return null;
  return prepared(JSON.parse(body.replace(/^\)\]\}'[^\n]*\n/, '')), mapFile);
}

function prepared(payload, mapFile) {
  const texts = new Map();
  for (const part of payload.sections?.map((section) => section.map) ?? [payload]) {
    part.sources = part.sources.map((source, index) => {
      if (source == null) return source;
      const resolved = resolveSource(source, part.sourceRoot ?? '', mapFile);
      const content = part.sourcesContent?.[index];
      if (typeof content === 'string' && !THIRD_PARTY.test(resolved)) texts.set(resolved, content);
      return resolved;
    });
    part.sourceRoot = '';
    // Node would keep a second copy, and of the packages' code too.
    delete part.sourcesContent;
  }
  const map = new Module.SourceMap(payload);
  map.texts = texts;
  return map;
}

function resolveSource(source, root, mapFile) {
  if (/^[a-z][a-z0-9+.-]+:/i.test(source)) return source;
  if (/^[a-z][a-z0-9+.-]+:/i.test(root)) return root.replace(/\/?$/, '/') + source;
  return path.resolve(path.dirname(mapFile), root, source);
}

function pathOf(source) {
  return source.startsWith('file:') ? fileURLToPath(source) : source;
}

function read(file) {
  try {
    return fs.statSync(file).size > MOST_BYTES ? null : fs.readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function decode(url) {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

/** What stands at a position, with two lines more; null where the text is not at hand. */
function textAt({ file, line, column, text }) {
  const whole = text ?? read(file);
  if (whole == null) return null;
  const lines = whole.split('\n', line + 2).slice(line - 1);
  if (lines.length === 0 || column > lines[0].length) return '';
  return lines.join('\n').slice(column - 1, column + 400);
}

const CALL = /^(?:(?:new|await|yield|import|super)\b|[([`]|[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*\s*(?:\?\.)?\s*[(`</])/u;
const AWAITED_CALL = /^(?:await\s+)?(?:new\s+)?[\p{ID_Start}$_][\p{ID_Continue}$.#?!\s]*(?:<[^()]*>)?\(/u;

/** Whether a call stands at the position, as far as the text is at hand. */
function writtenAsCall(position) {
  const text = textAt(position);
  return text === null || CALL.test(text);
}

/** Whether `await` stands right before a call there: only then is the awaited promise made on this line. */
function writtenAsAwaitedCall(position) {
  const text = textAt(position);
  return text !== null && AWAITED_CALL.test(text);
}

module.exports = { originalPosition, writtenAsCall, writtenAsAwaitedCall, THIRD_PARTY, UNSURE };
