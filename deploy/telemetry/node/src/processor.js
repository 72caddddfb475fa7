'use strict';

const { SpanKind } = require('@opentelemetry/api');
const { CALL, complain } = require('./context');
const { capture, nearest } = require('./frames');
const { hostOf, isAmong } = require('./hosts');

class CallSiteSpanProcessor {
  constructor(options) {
    this.awaited = options?.asyncFrames === true;
  }

  onStart(span, parentContext) {
    describe(span, parentContext, this.awaited, CallSiteSpanProcessor.prototype.onStart);
  }

  onEnd() {}

  forceFlush() {
    return Promise.resolve();
  }

  shutdown() {
    return Promise.resolve();
  }
}

/** Puts the call site on a span that has just started. `below` is the running function whose callers count. */
function describe(span, parentContext, awaited, below) {
  try {
    if (span.kind !== SpanKind.CLIENT && span.kind !== SpanKind.PRODUCER) return;
    const attributes = span.attributes ?? {};
    for (const key in attributes) {
      // Another's location stands; a database is no vendor's API.
      if (key.startsWith('code.') || key.startsWith('db.')) return;
    }
    const [site, via] = siteOf(parentContext?.getValue(CALL), attributes, awaited, capture(below));
    if (!site) return;
    const location = {
      'code.file.path': site.file,
      'code.line.number': site.line,
      'code.column.number': site.column,
      'sync.callsite.via': via,
    };
    if (site.function) location['code.function.name'] = site.function;
    span.setAttributes(location);
  } catch (error) {
    complain('a span was not located', error);
  }
}

function siteOf(call, attributes, awaited, stack) {
  const direct = nearest(stack, false);
  if (call === undefined) {
    if (direct) return [direct, 'stack'];
    const waits = awaited ? nearest(stack, true) : undefined;
    return [waits, 'async-stack'];
  }
  // In a call of an SDK, application code on the stack is code that the SDK calls (a listener, a hook): the request is
  // its own, whatever call is under way.
  if (direct && !same(direct, call.site)) return [direct, 'stack'];
  if (!call.site || !isAsked(call, attributes)) return [undefined];
  return [call.site, 'facade'];
}

function same(one, other) {
  return other !== undefined && one.line === other.line && one.column === other.column && one.file === other.file;
}

/** Whether this request is one that the call makes: to a host of its client, and not for the SDK's own purposes. */
function isAsked({ hosts, ignore }, attributes) {
  const url = attributes['url.full'] ?? attributes['http.url'];
  const host = attributes['server.address'] ?? attributes['net.peer.name'] ?? attributes['http.host'] ?? url;
  if (!isAmong(hostOf(host), hosts)) return false;
  return !(ignore && typeof url === 'string' && ignore.test(url.split(/[?#]/, 1)[0]));
}

module.exports = { CallSiteSpanProcessor, describe };
