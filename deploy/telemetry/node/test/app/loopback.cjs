'use strict';

// Preloaded into the application under test: TLS connections to any host end at the stand-in for the vendors (without
// TLS, on loopback), so that the application runs as it is written and its spans name the vendors' hosts.
const net = require('node:net');
const tls = require('node:tls');

const port = Number(process.env.STAND_IN_PORT);

tls.connect = function connect(...args) {
  const socket = net.connect({ port, host: '127.0.0.1' });
  socket.authorized = true;
  socket.alpnProtocol = false;
  socket.getSession = () => undefined;
  socket.once('connect', () => socket.emit('secureConnect'));
  const listener = args.at(-1);
  if (typeof listener === 'function') socket.once('secureConnect', listener);
  return socket;
};
