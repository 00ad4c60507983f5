import { expect, test } from 'vitest';
import { formatRendered } from './format-rendered.ts';
import { Installed } from './relations/relation.ts';
import { RELATIONS } from './relations/relations.ts';
import { buildRenderedSets } from './rendered-sets.ts';

const installed = new Installed(buildRenderedSets());

test('everything that is rendered is as in rendered.yaml, which "npm test -- test/install -u" writes', async () => {
  await expect(formatRendered(installed.sets)).toMatchFileSnapshot('rendered.yaml');
});

test.each(RELATIONS.map((relation) => [relation.rule, relation] as const))('%s', async (_rule, relation) => {
  const { check, checkGuard } = relation;
  await check?.(installed);
  for (const guard of checkGuard === undefined ? [] : installed.guards) await checkGuard?.(guard);
  expect(installed.guards.length).toBeGreaterThan(20);
});
