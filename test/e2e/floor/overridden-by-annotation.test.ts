import { afterAll, beforeAll, expect, test } from 'vitest';

import { auditedBy, awaitKnown, refusalOf, startFloor } from '../support/floor.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';

const ALLOW = 'machineconfig-guard.io/allow-deletion';

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await startFloor();
}, 120_000);

afterAll(() => installed.stop());

test.each([
  { written: ' node is "scrap" \\ CHG-7 ', recorded: 'node is "scrap" \\ CHG-7' },
  { written: 'two\nlines,\ttabs\u0007 and \u2028 more', recorded: 'two lines, tabs and more' },
  { written: 'äöü 救', recorded: 'äöü 救' },
  { written: 'x'.repeat(300), recorded: `${'x'.repeat(253)}...` },
  // An annotation may be this long, and an expression that costs too much is a refusal.
  { written: 'ab '.repeat(80_000), recorded: `${'ab '.repeat(84)}a...` },
])('the annotation with a reason lets it go, and the reason is recorded in one line', async ({ written, recorded }) => {
  const { cluster } = installed;
  const config = await cluster.config({ annotations: { [ALLOW]: written } });
  // Several of each: what they leave must still be one value.
  for (const _ of [1, 2]) {
    await cluster.node({ currentConfig: config });
    await cluster.pool({ spec: config });
  }
  await awaitKnown(installed, config, ['nodes', 'pools']);

  const response = await cluster.delete(config);

  expect(response.status).toBe(200);
  expect(await cluster.exists(config)).toBe(false);
  const event = await cluster.auditEvent(response);
  const overridden = { name: config, code: 'MCG_OVERRIDDEN', reason: recorded };
  expect(auditedBy('nodes', event)).toEqual({ overridden });
  expect(auditedBy('pools', event)).toEqual({ overridden });
});

test.each(['', '   ', '\n\t', '\u0000\u200b'])(
  'the annotation without a reason (%j) does not count, and the refusal says so',
  async (reason) => {
    const { cluster } = installed;
    const config = await cluster.config({ annotations: { [ALLOW]: reason } });
    await cluster.node({ currentConfig: config });
    await awaitKnown(installed, config, ['nodes']);

    const response = await cluster.delete(config);

    expect(response.status).toBe(403);
    expect(refusalOf(response)?.message).toContain('Its allow-deletion annotation has no reason and does not count.');
    expect(auditedBy('nodes', await cluster.auditEvent(response))).toEqual({
      denied: { name: config, code: 'MCG_IN_USE' },
    });
  },
);

test('other annotations do not count, and are not mentioned', async () => {
  const { cluster } = installed;
  const config = await cluster.config({ annotations: { [`${ALLOW}s`]: 'yes', 'allow-deletion': 'yes' } });
  await cluster.pool({ status: config });
  await awaitKnown(installed, config, ['pools']);

  const response = await cluster.delete(config);

  expect(response.status).toBe(403);
  expect(refusalOf(response)?.message).not.toContain('annotation');
});

test('on a config that nothing uses it changes and records nothing', async () => {
  const { cluster } = installed;
  const config = await cluster.config({ annotations: { [ALLOW]: 'CHG-8' } });

  const response = await cluster.delete(config);

  expect(response.status).toBe(200);
  expect(auditedBy('nodes', await cluster.auditEvent(response))).toEqual({});
});
