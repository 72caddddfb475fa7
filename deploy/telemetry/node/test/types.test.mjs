// The declarations fit what OpenTelemetry of each major wants, and ask for hosts.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const FOLDER = path.join(path.dirname(new URL(import.meta.url).pathname), '.work/types');
const SOURCE = `
import { CallSiteSpanProcessor, wrapClient } from '@sync/otel-callsites';
import '@sync/otel-callsites/register';
import type { SpanProcessor as One } from 'otel1-sdk';
import type { SpanProcessor as Two } from 'otel2-sdk';
import type { SpanProcessor as Three } from 'otel3-sdk';

export const processors: [One, Two, Three] = [new CallSiteSpanProcessor(), new CallSiteSpanProcessor({}), new CallSiteSpanProcessor({ asyncFrames: true })];

class Client { ask(path: string): Promise<number> { return Promise.resolve(path.length); } }
export const answer: Promise<number> = wrapClient(new Client(), { hosts: ['api.example.com'], ignore: /x/, subclients: true }).ask('/');

// @ts-expect-error hosts are needed
wrapClient(new Client(), {});
// @ts-expect-error no client
wrapClient('client', { hosts: [] });
`;

test('the declarations, under both ways of resolving modules', () => {
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, module, moduleResolution] of [
    ['program.mts', ts.ModuleKind.NodeNext, ts.ModuleResolutionKind.NodeNext],
    ['program.cts', ts.ModuleKind.NodeNext, ts.ModuleResolutionKind.NodeNext],
  ]) {
    const file = path.join(FOLDER, name);
    writeFileSync(file, SOURCE);
    const program = ts.createProgram([file], { module, moduleResolution, target: ts.ScriptTarget.ES2022, strict: true, noEmit: true, skipLibCheck: true, types: [] });
    const found = ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    assert.deepEqual(found, []);
  }
});
