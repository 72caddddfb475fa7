// What the vendors' APIs answer, on loopback. Knows the requests of the tests; anything else is 404.
import { createServer } from 'node:http';

const charge = { id: 'ch_1', object: 'charge', status: 'succeeded', paid: true };

function answer(method, host, url) {
  const { pathname, searchParams } = url;
  const key = `${method} ${pathname}`;
  if (host === 'api.stripe.com') {
    switch (key) {
      case 'POST /v1/charges': return charge;
      case 'GET /v1/charges': {
        const last = searchParams.has('starting_after');
        const data = last ? [{ ...charge, id: 'ch_3' }] : [charge, { ...charge, id: 'ch_2' }];
        return { object: 'list', url: '/v1/charges', has_more: !last, data };
      }
      case 'POST /v1/customers':
      case 'GET /v1/customers/cus_123': return { id: 'cus_123', object: 'customer' };
      case 'GET /v1/refunds':
      case 'GET /v1/events':
      case 'GET /v1/payouts': return { object: 'list', has_more: false, data: [] };
      case 'GET /v1/balance': return { object: 'balance' };
    }
  }
  if (host === 'api.openai.com') {
    if (key === 'POST /v1/chat/completions') return { id: 'c', object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }] };
    if (key === 'GET /v1/files') {
      const last = searchParams.has('after');
      return { object: 'list', has_more: !last, data: [{ id: last ? 'f2' : 'f1' }] };
    }
  }
  if (host === 'api.anthropic.com' && key === 'POST /v1/messages') return { id: 'm', type: 'message', role: 'assistant', content: [] };
  if (host === 'api.github.com') {
    if (key === 'GET /repos/o/r/issues') return [];
    if (key === 'POST /repos/o/r/issues') return { number: 1 };
  }
  if (host === 'slack.com' && key === 'POST /api/chat.postMessage') return { ok: true };
  if (host === 'api.twilio.com' && pathname.endsWith('.json')) return { sid: 'SM1', status: 'queued' };
  if (pathname === '/anything') return {};
  return undefined;
}

/** Resolves to { port, close() }. */
export async function standIn() {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const host = String(request.headers.host).split(':')[0];
      const body = answer(request.method, host, new URL(request.url, 'http://stand-in'));
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body ?? { error: { message: 'the stand-in does not know this request' } }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }),
  };
}
