import { stat } from 'node:fs/promises';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { auditedBy, awaitKnown, refusalOf, startFloor } from '../support/floor.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';

const NODES = 200;

let installed: InstalledCluster;
let config: string;

beforeAll(async () => {
  installed = await startFloor();
  config = await installed.cluster.config();
  await Promise.all(Array.from({ length: NODES }, () => installed.cluster.node({ currentConfig: config })));
}, 120_000);

afterAll(() => installed.stop());

/** What the API server has written into its own log, in bytes. */
async function logged(): Promise<number> {
  return (await stat(installed.controlPlane.apiServer.log)).size;
}

test('200 nodes with one config: one of them is named, and neither log grows with their number', async () => {
  const { cluster } = installed;
  await awaitKnown(installed, config, ['nodes']);
  const before = await logged();

  const response = await cluster.delete(config);

  expect(refusalOf(response)?.message).toMatch(
    /is in use by node worker-[0-9a-f]{8} \(currentConfig\) and perhaps others\./,
  );
  const event = await cluster.auditEvent(response);
  expect(auditedBy('nodes', event)).toEqual({ denied: { name: config, code: 'MCG_IN_USE' } });
  expect(JSON.stringify(event).length).toBeLessThan(4_000);
  // With the action Audit it is 2 kB for each of them.
  expect((await logged()) - before).toBeLessThan(4_000);
});
