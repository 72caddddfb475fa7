// usage: node drive-v1.mjs MCP_URL, token in SYNC_TOKEN. The TypeScript SDK 1.x, which speaks up to 2025-11-25.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { check } from './checks.mjs';

const url = new URL(process.argv[2]);
const transport = (token) =>
  new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
const info = { name: 'sync-conformance', version: '1' };

const client = new Client(info);
await client.connect(transport(process.env.SYNC_TOKEN));
assert.equal(client.getServerVersion().name, 'sync');
assert.ok(client.getInstructions().length <= 512);
await check(client, 'SDK v1');
await client.close();

await assert.rejects(new Client(info).connect(transport('sync_wrong')), /401|Unauthorized|malformed/i);
console.log('SDK v1: a wrong token is refused');
