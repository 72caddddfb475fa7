// What only looks like a call of an SDK, and what must not change because of us. The program: cases/hazards.cjs.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { caseFolder, marksOf, spansOfCase } from './cases/cases.mjs';

/** Per case the marks that its spans name, in order; null for a span that must name nothing. */
const EXPECTED = {
  'what follows a call is its own': ['awaited', 'after', 'chained', 'then'],
  'a listener that asks the same host': ['listened+listener', 'unlistened'],
  'a listener that waits before it asks the same host': ['before-late', 'late'],
  'a listener that asks another host': ['before-other', 'other'],
  'a listener whose package asks the same host later: nobody is named': ['before-later', null],
  'a package that asks at once, and one that asks later': ['package', null],
  'calls side by side': ['first+third', 'second'],
  'pages by callback, by list, by loop; what the callback asks is its own': ['each', 'in-each', 'each', 'array', 'array', 'loop', 'in-loop', 'loop'],
  'a class derived by the application works, and names nobody': [null],
  'a client of another host': ['custom-host', 'narrow', null, null, null],
  'an application with a way of its own to print stacks': ['own-stacks', 'own-stacks-fetch'],
  'spans of others are left as they are': ['produced', 'manual'],
};

describe('hazards', () => {
  let found;
  let marks;

  before(async () => {
    const file = caseFolder('hazards.cjs');
    marks = marksOf(file);
    found = await spansOfCase(file);
  });

  for (const [name, expected] of Object.entries(EXPECTED)) {
    test(name, () => {
      const named = found.get(name).map((span) => (span['code.line.number'] === undefined ? null : marks.get(span['code.line.number']) ?? `line ${span['code.line.number']}`));
      // Requests that start at the same time have no order.
      assert.deepEqual(inAnyOrder(named, expected), expected);
    });
  }

  test('every span that names a line names its file and its column too', () => {
    for (const span of [...found.values()].flat()) {
      const keys = ['code.file.path', 'code.line.number', 'code.column.number', 'sync.callsite.via'];
      assert.ok([0, keys.length].includes(keys.filter((key) => key in span).length), JSON.stringify(span));
    }
  });
});

/** Joins the names that the expectation joins by `+`, whatever their order. */
function inAnyOrder(named, expected) {
  const left = [...named];
  const result = expected.map((name) => {
    const parts = name?.split('+') ?? [null];
    const taken = left.splice(0, parts.length);
    return parts.length > 1 && [...taken].sort().join() === [...parts].sort().join() ? name : taken.length === 1 ? taken[0] : taken;
  });
  return [...result, ...left];
}
