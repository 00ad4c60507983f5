import { expect, test } from 'vitest';

import { pause } from '../control-plane/until.ts';
import { DEPLOYMENT, type GuardPod } from '../node/guard-pods.ts';
import { sharedInstalledNodeCluster } from '../node/shared-node-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { probeDuring } from '../support/prober.ts';
import { IS_LONG } from '../support/run-binaries.ts';

const RESTARTS = IS_LONG ? 5 : 1;
/** A call without an answer takes as long as the timeout of the webhook. */
const CALL_TIMEOUT_MS = 5_000;
interface Loss {
  readonly title: string;
  readonly lose: (pod: GuardPod) => Promise<unknown>;
  readonly end?: (pod: GuardPod) => Promise<unknown>;
  /** The time until all answers are right. */
  readonly recoveryMs: number;
  readonly observedMs: number;
}

const { cluster, replicas: pods } = await sharedInstalledNodeCluster();

const LOSSES: readonly Loss[] = [
  {
    title: 'killed',
    lose: (pod) => pods.killContainer(pod),
    recoveryMs: 3_000,
    observedMs: 6_000,
  },
  {
    title: 'deleted with `--force`',
    lose: ({ metadata }) => pods.kubectl('delete', 'pod', metadata.name, '--force', '--grace-period=0'),
    recoveryMs: 3_000,
    observedMs: 6_000,
  },
  {
    title: 'frozen',
    lose: (pod) => pods.signal(pod, 'SIGSTOP'),
    end: (pod) => pods.signal(pod, 'SIGCONT'),
    // Until the pod leaves the Service, and the API server gives up its connections to the pod.
    recoveryMs: 15_000,
    observedMs: 25_000,
  },
];

test('no call fails during a restart, and another replica writes the status', async () => {
  const before = await pods.list();
  const { faults } = await probeDuring(cluster.connection.admin, async (prober) => {
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      await pods.kubectl('rollout', 'restart', DEPLOYMENT);
      await pods.awaitRollout();
      await prober.awaitMore(50);
    }
  });

  expect(faults).toEqual([]);
  const names = (await pods.list()).map(({ metadata }) => metadata.name);
  expect(names).toHaveLength(2);
  for (const { metadata } of before) expect(names).not.toContain(metadata.name);
  expect((await pods.readLogs()).join('')).toContain('"verdict":');
  const readProtected = async () => {
    const guard = await cluster.admin.find(PATHS.guard);
    return (guard?.status as { protectedConfigs: number } | undefined)?.protectedConfigs ?? 0;
  };
  const protectedBefore = await readProtected();
  await cluster.node({ currentConfig: await cluster.config() });
  // A stopping leader releases the Lease. The other replica tries to acquire it every 26 s.
  await expect.poll(readProtected, { timeout: 40_000 }).toBeGreaterThan(protectedBefore);
}, 300_000);

test.for(LOSSES.slice(0, IS_LONG ? 3 : 2))(
  'calls fail only for a moment after a replica is $title, and no answer is wrong',
  { timeout: 120_000 },
  async ({ lose, end, recoveryMs, observedMs }) => {
    let lostAt = 0;
    const prober = await probeDuring(cluster.connection.admin, async () => {
      const pod = await pods.findServing();
      lostAt = performance.now();
      try {
        await lose(pod);
        await pause(observedMs);
      } finally {
        await end?.(pod);
      }
    });
    await pods.awaitRollout();
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
