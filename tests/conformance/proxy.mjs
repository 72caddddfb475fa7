// usage: node proxy.mjs LISTEN_PORT TARGET_PORT, token in SYNC_TOKEN
// Adds the credential to requests without one: the conformance suite has no option for it, and so the real
// authentication is exercised. Host and Origin pass through, for the rebinding checks.
import http from 'node:http';

const [listen, target] = process.argv.slice(2).map(Number);
const credential = `Bearer ${process.env.SYNC_TOKEN}`;

http.createServer((request, response) => {
  const headers = { authorization: credential, ...request.headers };
  const options = { host: '127.0.0.1', port: target, path: request.url, method: request.method, headers };
  const forwarded = http.request(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  forwarded.on('error', (error) => {
    response.writeHead(502);
    response.end(String(error));
  });
  request.pipe(forwarded);
  response.on('close', () => forwarded.destroy());
}).listen(listen, '127.0.0.1', () => console.log('ready'));
