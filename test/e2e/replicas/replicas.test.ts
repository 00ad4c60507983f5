import { readFile } from 'node:fs/promises';

import { expect, test } from 'vitest';

import { pause } from '../control-plane/until.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { probeDuring } from '../support/prober.ts';
import { IS_LONG } from '../support/run-binaries.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const RESTARTS = IS_LONG ? 5 : 1;
/** A call without an answer takes as long as the timeout of the webhook. */
const CALL_TIMEOUT_MS = 5_000;
const LOSSES = [
  { signal: 'SIGKILL', name: 'killed', recoveryMs: 3_000, observedMs: 6_000 },
  // Until the pod leaves the Service, and the API server gives up its connections to the pod.
  { signal: 'SIGSTOP', name: 'frozen', recoveryMs: 15_000, observedMs: 25_000 },
] as const;

const { cluster, controlPlane, kubelet } = await sharedInstalledCluster();

test('no call fails during a restart, and another replica writes the status', async () => {
  const before = kubelet.history.length;
  const { faults } = await probeDuring(cluster.connection.admin, async (prober) => {
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const deployment = ['deployment/machineconfig-guard', '--namespace=machineconfig-guard'];
      await kubectlOk(controlPlane, ['rollout', 'restart', ...deployment]);
      await kubelet.awaitRollout();
      await prober.awaitMore(50);
    }
  });

  expect(faults).toEqual([]);
  expect(kubelet.history).toHaveLength(before + 2 * RESTARTS);
  const logs = await Promise.all(kubelet.pods.map(({ log }) => readFile(log, 'utf8')));
  expect(logs.join('')).toContain('"verdict":');
  const readProtected = async () => {
    const guard = await cluster.admin.find(PATHS.guard);
    return (guard?.status as { protectedConfigs: number } | undefined)?.protectedConfigs ?? 0;
  };
  const protectedBefore = await readProtected();
  await cluster.node({ currentConfig: await cluster.config() });
  // A stopping leader releases the Lease. The other replica tries to acquire it every 26 s.
  await expect.poll(readProtected, { timeout: 40_000 }).toBeGreaterThan(protectedBefore);
}, 300_000);

test.for(LOSSES.slice(0, IS_LONG ? 2 : 1))(
  'calls fail only for a moment after a replica is $name, and no answer is wrong',
  { timeout: 120_000 },
  async ({ signal, recoveryMs, observedMs }) => {
    const [pod] = kubelet.pods;
    let lostAt = 0;
    const prober = await probeDuring(cluster.connection.admin, async () => {
      lostAt = performance.now();
      pod?.signal(signal);
      await pause(observedMs);
    });
    pod?.signal('SIGCONT');
    await kubelet.awaitRollout();
    // A killed leader would keep the Lease for 137 s, in which no replica writes the status.
    await cluster.admin.patch(PATHS.lease, { spec: { holderIdentity: '' } });

    expect(prober.errors).toEqual([]);
    const late = prober.faults.filter(
      ({ sentAt }) => sentAt < lostAt - CALL_TIMEOUT_MS || sentAt > lostAt + recoveryMs,
    );
    expect(late).toEqual([]);
    expect(prober.probes.length - prober.faults.length).toBeGreaterThan(50);
  },
);
