import { afterAll, beforeAll, expect, test } from 'vitest';

import { auditedBy, BINDINGS, refusalOf, startFloor } from '../support/floor.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';

const NODES = `${BINDINGS}/nodes.machineconfig-guard.io`;

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await startFloor();
}, 120_000);

afterAll(() => installed.stop());

async function usedBy(referrer: 'node' | 'pool'): Promise<string> {
  const config = await installed.cluster.config();
  if (referrer === 'node') await installed.cluster.node({ currentConfig: config });
  else await installed.cluster.pool({ spec: config });
  return config;
}

/** The API server looks at its policies every second. */
const SOON = { timeout: 5_000 };

/** What would be answered to its deletion. */
function answer(config: string): () => Promise<number> {
  return async () => (await installed.dryRun(config)).status;
}

test('[Warn]: it passes, with a warning and a trace; the other policy still refuses', async () => {
  const config = await usedBy('node');
  await expect.poll(answer(config), SOON).toBe(403);

  await installed.cluster.admin.patch(NODES, { spec: { validationActions: ['Warn'] } });
  await expect.poll(answer(config), SOON).toBe(200);
  const response = await installed.cluster.delete(config);

  expect(response.status).toBe(200);
  expect(response.warnings).toEqual([expect.stringContaining(`MCG_IN_USE: ${config} is in use by node`)]);
  const event = await installed.cluster.auditEvent(response);
  // The answer tells that it was not.
  expect(auditedBy('nodes', event)).toEqual({ denied: { name: config, code: 'MCG_IN_USE' } });
  expect(event.responseStatus?.code).toBe(200);
  await expect.poll(answer(await usedBy('pool')), SOON).toBe(403);
});

test('applied again: refused again', async () => {
  const config = await usedBy('node');

  await installed.applyOverlay('policy-floor');

  await expect.poll(answer(config), SOON).toBe(403);
});

test.each(['node', 'pool'] as const)(
  'without its binding the policy of %ss does nothing; applied again, it knows what has happened since',
  async (referrer) => {
    const { cluster } = installed;
    const config = await usedBy(referrer);
    await expect.poll(answer(config), SOON).toBe(403);

    await cluster.admin.delete(`${BINDINGS}/${referrer}s.machineconfig-guard.io`);
    await expect.poll(answer(config), SOON).toBe(200);
    const meanwhile = await usedBy(referrer);
    await installed.applyOverlay('policy-floor');

    await expect.poll(answer(config), SOON).toBe(403);
    await expect.poll(answer(meanwhile), SOON).toBe(403);
    const afterwards = await usedBy(referrer);
    await expect.poll(answer(afterwards), SOON).toBe(403);
    expect(refusalOf(await cluster.delete(afterwards))?.policy).toBe(`${referrer}s`);
  },
);

test('deleted as a whole it leaves nothing behind, and deletions work at once', async () => {
  const [byNode, byPool] = [await usedBy('node'), await usedBy('pool')];
  await expect.poll(answer(byPool), SOON).toBe(403);

  await installed.deleteOverlay('policy-floor');

  await expect.poll(answer(byNode), SOON).toBe(200);
  await expect.poll(answer(byPool), SOON).toBe(200);
  expect(await installed.cluster.admin.list(BINDINGS)).toEqual([]);
  expect(await installed.cluster.admin.list(BINDINGS.replace('policybindings', 'policies'))).toEqual([]);
});
