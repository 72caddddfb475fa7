// npm test: installs what the tests need (by the lockfile), puts the package there as it is published, runs them all.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { install } from './app/install.mjs';

const HERE = path.dirname(new URL(import.meta.url).pathname);
install();
const files = readdirSync(HERE).filter((name) => name.endsWith('.test.mjs')).map((name) => path.join(HERE, name));
const { status } = spawnSync(process.execPath, ['--test', ...process.argv.slice(2), ...files], { stdio: 'inherit' });
process.exitCode = status ?? 1;
