'use strict';

// Every request of this program that may name a line stands on a line marked `@name`; hazards.test.mjs says which
// marks its spans must name, in order, and which must name none.
const { SpanKind, context, trace } = require('@opentelemetry/api');
const { wrapClient } = require('@sync/otel-callsites');
const { OpenAI } = require('openai');
const Stripe = require('stripe');
const deferred = require('deferred');

const HOST = 'https://api.stripe.com';
const pause = () => new Promise((resolve) => setTimeout(resolve, 30));
const mark = (name) => trace.getTracer('marks').startSpan(name, { kind: SpanKind.CLIENT, attributes: { 'db.system': 'mark' } }).end();

const CASES = {
  async 'what follows a call is its own'(stripe) {
    await stripe.charges.create({}); // @awaited
    await fetch(`${HOST}/v1/refunds`); // @after
    await stripe.charges
      .create({}) // @chained
      .then(() => fetch(`${HOST}/v1/events`)); // @then
  },
  async 'a listener that asks the same host'(stripe) {
    const listener = () => { void fetch(`${HOST}/v1/payouts`); }; // @listener
    stripe.on('request', listener);
    await stripe.charges.create({}); // @listened
    await pause();
    stripe.off('request', listener);
    await stripe.charges.create({}); // @unlistened
    await pause();
  },
  async 'a listener that waits before it asks the same host'(stripe) {
    stripe.once('request', async () => {
      await pause();
      await fetch(`${HOST}/v1/payouts`); // @late
    });
    await stripe.charges.create({}); // @before-late
    await pause();
    await pause();
  },
  async 'a listener that asks another host'(stripe) {
    stripe.once('response', () => { void fetch('https://other.example/anything'); }); // @other
    await stripe.charges.create({}); // @before-other
    await pause();
  },
  async 'a listener whose package asks the same host later: nobody is named'(stripe) {
    stripe.once('response', () => { void deferred.later(`${HOST}/v1/balance`); });
    await stripe.charges.create({}); // @before-later
    await pause();
  },
  async 'a package that asks at once, and one that asks later'() {
    await deferred.now(`${HOST}/v1/refunds`); // @package
    await deferred.later(`${HOST}/v1/refunds`);
  },
  async 'calls side by side'(stripe) {
    await Promise.all([
      stripe.charges.create({}), // @first
      pause().then(() => stripe.customers.retrieve('cus_123')), // @second
      stripe.customers.create({}), // @third
    ]);
  },
  async 'pages by callback, by list, by loop; what the callback asks is its own'(stripe) {
    let asked = 0;
    await stripe.charges.list({ limit: 2 }).autoPagingEach(async () => { // @each
      asked += 1;
      if (asked === 1) await fetch(`${HOST}/v1/events`); // @in-each
    });
    await stripe.charges.list({ limit: 2 }).autoPagingToArray({ limit: 10 }); // @array
    for await (const charge of stripe.charges.list({ limit: 2 })) { // @loop
      if (charge.id === 'ch_2') await fetch(`${HOST}/v1/payouts`); // @in-loop
    }
  },
  async 'a class derived by the application works, and names nobody'() {
    class Mine extends OpenAI {
      #calls = 0;

      async ask() {
        this.#calls += 1;
        await this.files.list();
        return this.#calls;
      }
    }
    const mine = new Mine({ apiKey: 'key' });
    if (await mine.ask() !== 1 || !(mine instanceof OpenAI)) throw new Error('the derived class is broken');
  },
  async 'a client of another host'() {
    const other = new Stripe('sk_test_123', { host: 'other.example', telemetry: false, maxNetworkRetries: 0 });
    await other.charges.create({}).catch(() => undefined); // @custom-host
    const narrow = wrapClient({ ask: (url) => deferred.later(url) }, { hosts: ['*.stripe.com'], ignore: /\/events$/ });
    await narrow.ask(`${HOST}/v1/refunds`); // @narrow
    await narrow.ask(`${HOST}/v1/events?limit=1`);
    await narrow.ask('https://stripe.com/anything');
    await narrow.ask('https://evilstripe.com/anything');
  },
  async 'an application with a way of its own to print stacks'(stripe) {
    const mine = () => 'mine';
    Error.prepareStackTrace = mine;
    Error.stackTraceLimit = 0;
    await stripe.charges.create({}); // @own-stacks
    await fetch(`${HOST}/v1/refunds`); // @own-stacks-fetch
    const kept = Error.prepareStackTrace === mine && Error.stackTraceLimit === 0 && new Error('x').stack === 'mine';
    Error.prepareStackTrace = undefined;
    Error.stackTraceLimit = 10;
    if (!kept) throw new Error('its own way is gone');
  },
  async 'spans of others are left as they are'() {
    const tracer = trace.getTracer('application');
    for (const attributes of [{ 'code.filepath': 'mine.js' }, { 'code.function.name': 'mine' }, { 'db.system.name': 'postgresql' }]) {
      tracer.startSpan('located', { kind: SpanKind.CLIENT, attributes }).end();
    }
    tracer.startSpan('produced', { kind: SpanKind.PRODUCER }).end(); // @produced
    tracer.startSpan('manual', { kind: SpanKind.CLIENT }, context.active()).end(); // @manual
  },
};

async function main() {
  for (const [name, run] of Object.entries(CASES)) {
    mark(name);
    await run(new Stripe('sk_test_123', { telemetry: false, maxNetworkRetries: 0 }));
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
