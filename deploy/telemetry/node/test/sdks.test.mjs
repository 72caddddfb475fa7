// SDKs of the table, real ones, imported and required: each call names its line. The programs: cases/sdks.*.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { caseFolder, marksOf, spansOfCase } from './cases/cases.mjs';

const EXPECTED = {
  openai: ['openai-chat', 'openai-pages', 'openai-pages', 'openai-named'],
  anthropic: ['anthropic', 'anthropic-response'],
  octokit: ['octokit-rest', 'octokit-old', 'octokit-request', 'octokit-paginate', 'octokit-iterator', 'octokit-derived'],
  twilio: ['twilio-create', 'twilio-fetch', 'twilio-create', 'twilio-fetch'],
  stripe: ['stripe'],
  'slack, which queues: no line': [null],
};

const HERE = path.dirname(new URL(import.meta.url).pathname);
const HOOK = path.join(HERE, 'cases/otel-hook.mjs');

for (const [title, name, options] of [
  ['required', 'sdks.cjs', {}],
  ['imported', 'sdks.mjs', {}],
  ['imported, OpenTelemetry\'s own loader before ours', 'sdks.mjs', { first: [HOOK] }],
  ['imported, OpenTelemetry\'s own loader after ours', 'sdks.mjs', { preload: [HOOK] }],
]) {
  describe(title, () => {
    test('every call names its line', async () => {
      const file = caseFolder(name);
      const marks = marksOf(file);
      const found = await spansOfCase(file, options);
      const named = Object.fromEntries([...found].map(([key, spans]) => [
        key,
        spans.map((span) => (span['code.line.number'] === undefined ? null : marks.get(span['code.line.number']) ?? `line ${span['code.line.number']}`)),
      ]));
      assert.deepEqual(named, name === 'sdks.mjs' ? { ...EXPECTED, 'what a package exports, and no name more': [] } : EXPECTED);
    });
  });
}
