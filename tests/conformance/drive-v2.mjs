// usage: node drive-v2.mjs MCP_URL legacy|auto, token in SYNC_TOKEN. The TypeScript SDK 2.x, in both eras.
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { check } from './checks.mjs';

const url = new URL(process.argv[2]);
const era = process.argv[3];
const transport = (token) =>
  new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
const info = { name: 'sync-conformance', version: '1' };
const options = era === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {};

const client = new Client(info, options);
await client.connect(transport(process.env.SYNC_TOKEN));
await check(client, `SDK v2 ${era}`);
await client.close();

await assert.rejects(new Client(info, options).connect(transport('sync_wrong')));
console.log(`SDK v2 ${era}: a wrong token is refused`);
