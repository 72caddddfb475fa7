// Real SDKs, imported. As in hazards.cjs, `@name` marks the line that a span must name.
import { SpanKind, trace } from '@opentelemetry/api';
import Anthropic from '@anthropic-ai/sdk';
import { Octokit } from '@octokit/rest';
import { WebClient } from '@slack/web-api';
import OpenAI, { OpenAI as Named } from 'openai';
import * as dub from 'dub';
import plaid, { other, PlaidApi } from 'plaid';
import Stripe, { Stripe as StripeByName } from 'stripe';
import twilio from 'twilio';

const mark = (name) => trace.getTracer('marks').startSpan(name, { kind: SpanKind.CLIENT, attributes: { 'db.system': 'mark' } }).end();

const CASES = {
  async openai() {
    const client = new OpenAI({ apiKey: 'key' });
    await client.chat.completions.create({ model: 'm', messages: [] }); // @openai-chat
    for await (const file of client.files.list()) { // @openai-pages
      void file;
    }
    await new Named({ apiKey: 'key' }).files.list().withResponse(); // @openai-named
    if (!(client instanceof OpenAI) || OpenAI !== Named || client.constructor === undefined) throw new Error('the class is another');
  },
  async anthropic() {
    const client = new Anthropic({ apiKey: 'key' });
    await client.messages.create({ model: 'm', max_tokens: 1, messages: [] }); // @anthropic
    await client.messages.create({}).asResponse(); // @anthropic-response
  },
  async octokit() {
    const octokit = new Octokit();
    await octokit.rest.issues.create({ owner: 'o', repo: 'r', title: 't' }); // @octokit-rest
    await octokit.issues.create({ owner: 'o', repo: 'r', title: 't' }); // @octokit-old
    await octokit.request('POST /repos/{owner}/{repo}/issues', { owner: 'o', repo: 'r', title: 't' }); // @octokit-request
    await octokit.paginate(octokit.rest.issues.listForRepo, { owner: 'o', repo: 'r' }); // @octokit-paginate
    for await (const page of octokit.paginate.iterator(octokit.rest.issues.listForRepo, { owner: 'o', repo: 'r' })) { // @octokit-iterator
      void page;
    }
    const Derived = Octokit.defaults({ userAgent: 'test' });
    await new Derived().rest.issues.create({ owner: 'o', repo: 'r', title: 't' }); // @octokit-derived
  },
  async twilio() {
    for (const client of [twilio('AC1', 'token'), new twilio.Twilio('AC1', 'token')]) {
      await client.messages.create({ to: '+1', from: '+2', body: 'b' }); // @twilio-create
      await client.messages('SM1').fetch(); // @twilio-fetch
    }
  },
  async 'what a package exports, and no name more'() {
    if (plaid.PlaidApi !== PlaidApi || plaid.other !== other || other !== 1) throw new Error('the default export is another');
    if (Object.keys(dub).join() !== 'Dub,other') throw new Error(`dub exports ${Object.keys(dub)}`);
    if (!(new dub.Dub() instanceof dub.Dub)) throw new Error('the class is another');
  },
  async stripe() {
    if (Stripe !== StripeByName) throw new Error('two classes');
    const stripe = new Stripe('sk_test_123', { telemetry: false });
    await stripe.charges.create({}); // @stripe
  },
  async 'slack, which queues: no line'() {
    await new WebClient('token', { retryConfig: { retries: 0 } }).chat.postMessage({ channel: 'c', text: 't' });
  },
};

for (const [name, run] of Object.entries(CASES)) {
  mark(name);
  await run();
}
