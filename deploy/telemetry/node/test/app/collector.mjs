// An OTLP/HTTP receiver that keeps what it is sent.
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** Resolves to { endpoint, bodies: [{ type, body }], spans(), close() }. */
export async function collector() {
  const bodies = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      const type = String(request.headers['content-type']).split(';')[0];
      bodies.push({ type, body: request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent });
      response.writeHead(200, { 'content-type': type });
      response.end(type === 'application/json' ? '{}' : '');
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${server.address().port}`,
    bodies,
    /** Client and producer spans of JSON bodies in the order in which they started, attributes as an object. */
    spans: () => bodies
      .flatMap(({ body }) => JSON.parse(body).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans)
      .filter(({ kind }) => kind === 3 || kind === 4)
      .map((span) => ({ start: span.startTimeUnixNano.padStart(20, '0'), name: span.name, ...attributesOf(span) }))
      .sort((one, other) => (one.start < other.start ? -1 : one.start > other.start ? 1 : 0)),
    close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }),
  };
}

function attributesOf({ attributes }) {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]));
}
