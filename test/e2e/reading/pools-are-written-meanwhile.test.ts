import { expect, test } from 'vitest';

import { pause } from '../control-plane/until.ts';
import { sharedCluster } from '../support/cluster.ts';
import { poolStatus } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';

const cluster = sharedCluster();
const BETWEEN_WRITES_MS = 100;
const DELETIONS = 20;

/** Writes the status of a pool again and again; how often. */
async function keepWriting(path: string, config: string, until: AbortSignal): Promise<number> {
  let writes = 0;
  while (!until.aborted) {
    const { status } = poolStatus(config) as { readonly status: object };
    await cluster.admin.patch(`${path}/status`, { status: { ...status, readyMachineCount: writes } });
    writes += 1;
    await pause(BETWEEN_WRITES_MS);
  }
  return writes;
}

test('free configs go while a pool is written ten times a second', async () => {
  const config = await cluster.config();
  const { metadata } = await cluster.pool({ status: config });
  const path = `${PATHS.pools}/${metadata.name}`;
  const done = new AbortController();
  const writing = keepWriting(path, config, done.signal);
  const answers: number[] = [];
  for (let index = 0; index < DELETIONS; index += 1) {
    answers.push((await cluster.delete(await cluster.config())).status);
    await pause(BETWEEN_WRITES_MS);
  }
  done.abort();
  const writes = await writing;
  await cluster.admin.delete(path);

  expect(answers).toEqual(Array.from({ length: DELETIONS }, () => 200));
  expect(writes).toBeGreaterThan(DELETIONS / 2);
});
