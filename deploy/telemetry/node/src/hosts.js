'use strict';

/** The host's name in a URL, in `host:port` or alone; undefined for anything else. */
function hostOf(value) {
  if (typeof value !== 'string' && !(value instanceof URL)) return undefined;
  const text = String(value);
  try {
    const { hostname } = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
    return hostname.toLowerCase() || undefined;
  } catch {
    return undefined;
  }
}

/** `hosts` are exact names or `*.example.com`, which is everything below that and not itself. */
function isAmong(host, hosts) {
  return host !== undefined && hosts.some((allowed) => {
    const name = String(allowed).toLowerCase();
    return name.startsWith('*.') ? host.endsWith(name.slice(1)) && host.length > name.length - 1 : host === name;
  });
}

module.exports = { hostOf, isAmong };
