// Puts the package where `npm install` would: packed as it is published, and unpacked.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const TESTS = path.resolve(path.dirname(new URL(import.meta.url).pathname), '..');

export function install() {
  if (!existsSync(path.join(TESTS, 'node_modules/stripe'))) {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: TESTS, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  const target = path.join(TESTS, 'node_modules/@sync/otel-callsites');
  const folder = mkdtempSync(path.join(os.tmpdir(), 'otel-callsites-'));
  try {
    const [{ filename }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: path.join(TESTS, '..') }));
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['xzf', path.join(folder, filename), '-C', target, '--strip-components=1']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
