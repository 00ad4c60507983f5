import { nodeConfigPatch } from '../../support/objects.ts';
import { PATHS } from '../../support/paths.ts';
import { until } from '../../control-plane/until.ts';
import type { Fault } from '../support/fault.ts';
import type { Questions } from '../support/questions.ts';

/** So many that the guard's watches would have to wait long for a version to come again that they have seen. */
const WRITES = 100;

/**
 * Between the copy and its return a node moves on: what it names in the present is free in the past, and the other way round. The guard's index
 * knows the present, and its watches are at versions that do not exist any more.
 */
export const etcdRestored: Fault = {
  name: 'etcd-restored',
  title: 'etcd is restored from an older copy',
  seen: '`versions went back from … to …` in the log; references to configs that the copy does not have [dangle](runbooks/MachineConfigGuardDanglingReference.md)',
  answers: { used: ['no answer', 'unverified', 'in use'], free: ['no answer', 'unverified', 'let go'] },
  proof: 'no answer',
  lastsMs: 1_000,
  prepare: async ({ controlPlane }, questions) => {
    const { admin } = controlPlane.apiServer;
    await questions.stop();
    await controlPlane.backUpEtcd();
    const path = `${PATHS.nodes}/${questions.node}`;
    await until('the API server to have etcd back', () => admin.isReady('/readyz'), { timeoutMs: 60_000 });
    for (let write = 0; write < WRITES; write += 1) {
      await admin.patch(path, { metadata: { annotations: { write: String(write) } } });
    }
    await admin.patch(path, nodeConfigPatch({ currentConfig: questions.configs.free }));
    questions.configs = swapped(questions.configs);
    questions.start();
    await questions.untilRight(performance.now());
  },
  begin: async ({ controlPlane }, questions) => {
    await questions.stop();
    await controlPlane.kill();
    questions.configs = swapped(questions.configs);
    questions.start();
    return () => controlPlane.restoreEtcd();
  },
};

function swapped({ used, free }: Questions['configs']): Questions['configs'] {
  return { used: free, free: used };
}
