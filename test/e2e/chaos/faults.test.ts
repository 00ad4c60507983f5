import { expect, onTestFinished, test } from 'vitest';
import { until } from '../control-plane/until.ts';
import { nodePatch, PATHS } from '../support/objects.ts';
import { Prober } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

const RIGHT_ANSWERS = 3;
/** Enough that the guard's watches would wait long until a resource version occurs again. */
const WRITES_AFTER_BACKUP = 100;

const guarded = await sharedGuardedCluster();
const { cluster, controlPlane, guard } = guarded;

/** Changes what the prober expects, as a node moves. */
async function swapConfigs(prober: Prober, step: () => Promise<unknown>): Promise<void> {
  await prober.stop();
  await step();
  prober.configs = { used: prober.configs.unused, unused: prober.configs.used };
  prober.resume();
}

// A node moves between the backup and its restore. The config that it names then is unused after the restore, and the
// other one is used. The index knows the state before the restore, and its watches are at versions that do not exist.
test('decides rightly while etcd is restored from a backup, and recovers', async () => {
  const { admin } = cluster;
  const { pid } = guard;
  const prober = await Prober.start(cluster);
  onTestFinished(() => prober.stop());
  await prober.awaitRightAnswers(RIGHT_ANSWERS);
  await swapConfigs(prober, async () => {
    await controlPlane.etcd.backUp();
    const path = `${PATHS.nodes}/${prober.node}`;
    await until('the API server to reach etcd again', () => admin.isReady('/readyz'));
    for (let write = 0; write < WRITES_AFTER_BACKUP; write += 1) {
      await admin.patch(path, { metadata: { annotations: { write: String(write) } } });
    }
    await admin.patch(path, nodePatch({ currentConfig: prober.configs.unused }));
  });
  await prober.awaitRightAnswers(RIGHT_ANSWERS);

  await swapConfigs(prober, () => controlPlane.kill());
  await prober.awaitMore(RIGHT_ANSWERS);
  await controlPlane.restoreEtcd();

  await prober.awaitRightAnswers(RIGHT_ANSWERS);
  await prober.stop();
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  await guarded.awaitDenialFromIndex(config);
  expect(prober.wrongAnswers).toEqual([]);
  expect({ isRunning: guard.isRunning, pid: guard.pid }).toEqual({ isRunning: true, pid });
});
