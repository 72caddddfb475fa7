// What every client has to see, whichever SDK it is made with.
import assert from 'node:assert/strict';
import Ajv from 'ajv';

// `client`: listTools, callTool, listPrompts, getPrompt, listResources, listResourceTemplates, readResource, complete.
export async function check(client, name) {
  const { tools, nextCursor } = await client.listTools();
  assert.equal(nextCursor, undefined, 'tools/list is one page');
  const names = tools.map((tool) => tool.name);
  assert.deepEqual(names, [...names].sort(), 'tools are sorted');
  for (const expected of ['sync_explain_call_site', 'sync_repositories', 'sync_whats_at_risk', 'sync_whats_changed']) {
    assert.ok(names.includes(expected), expected);
  }
  const ajv = new Ajv({ strict: false });
  const validators = new Map(tools.map((tool) => [tool.name, ajv.compile(tool.outputSchema)]));
  for (const tool of tools) {
    for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']) {
      assert.equal(typeof tool.annotations[hint], 'boolean', `${tool.name} ${hint}`);
    }
  }

  const ask = async (tool, given = {}) => {
    const result = await client.callTool({ name: tool, arguments: given });
    if (result.isError) return JSON.parse(result.content[0].text);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, `${tool}: text is structuredContent`);
    const valid = validators.get(tool);
    assert.ok(valid(result.structuredContent), `${tool}: ${JSON.stringify(valid.errors)}`);
    return result.structuredContent;
  };
  const { repositories } = await ask('sync_repositories');
  const repository = repositories[0]?.name;
  if (repository) {
    const risk = await ask('sync_whats_at_risk', { repository });
    const finding = risk.findings?.[0];
    if (finding) await ask('sync_explain_call_site', { repository, file: finding.file, line: finding.line });
    // The parameter that modern clients mirror into a header.
    const other = await ask('sync_whats_at_risk', { repository, ref: 'no-such-ref-é' });
    assert.equal(other.status, 'not_indexed');
    console.log(`${name}: ${repository}: ${risk.status}, ${risk.findings?.length ?? 0} findings on the first page`);
  }

  const wrong = await client.callTool({ name: 'sync_whats_at_risk', arguments: { limit: 'many' } });
  assert.equal(wrong.isError, true);
  assert.equal(JSON.parse(wrong.content[0].text).error.code, 'invalid_argument');
  await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), /no_such_tool/);

  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((prompt) => prompt.name), ['sync_review_change', 'sync_upgrade_plan']);
  const plan = await client.getPrompt({ name: 'sync_upgrade_plan', arguments: { vendor: 'stripe' } });
  assert.match(plan.messages[0].content.text, /`stripe`/);
  await assert.rejects(client.getPrompt({ name: 'sync_upgrade_plan', arguments: {} }));

  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map((template) => template.uriTemplate), ['sync://feed/{vendor}']);
  const { resources } = await client.listResources();
  if (resources.length > 0) {
    const { contents } = await client.readResource({ uri: resources[0].uri });
    assert.equal(`sync://feed/${JSON.parse(contents[0].text).vendor}`, resources[0].uri);
  }
  await assert.rejects(client.readResource({ uri: 'sync://feed/no-such-vendor' }));

  const vendors = await client.complete({
    ref: { type: 'ref/prompt', name: 'sync_upgrade_plan' },
    argument: { name: 'vendor', value: 'str' },
  });
  assert.ok(vendors.completion.values.includes('stripe'), JSON.stringify(vendors));
  console.log(`${name}: ok, ${tools.length} tools, ${resources.length} resources`);
}
