import { until } from '../../control-plane/until.ts';
import { nodeConfigPatch } from '../../support/objects.ts';
import { PATHS } from '../../support/paths.ts';
import type { Prober } from '../../support/prober.ts';
import type { Fault } from '../fault.ts';

const SEEN =
  '[`… cannot be reached`](troubleshooting.md#-cannot-be-reached-) or ' +
  '[`no complete answer in time`](troubleshooting.md#no-complete-answer-in-time)';

const apiServerKilled: Fault = {
  name: 'api-server-killed',
  title: "The guard's API server is killed",
  seen: SEEN,
  isInShortRun: true,
  needsSecondApiServer: true,
  requiredAnswer: 'unverified',
  durationMs: 5_000,
  inject: async ({ controlPlane: { apiServer } }) => {
    await apiServer.kill();
    return () => apiServer.start();
  },
};

/** Connections stay open. Requests get no answer, and watches do not end. */
const apiServerFrozen: Fault = {
  name: 'api-server-frozen',
  title: "The guard's API server hangs",
  seen: SEEN,
  needsSecondApiServer: true,
  requiredAnswer: 'unverified',
  durationMs: 6_000,
  inject: ({ controlPlane: { apiServer } }) => {
    apiServer.signal('SIGSTOP');
    return () => apiServer.signal('SIGCONT');
  },
};

/** Enough that the guard's watches would wait long until a resource version occurs again. */
const WRITES_AFTER_BACKUP = 100;

/**
 * A node moves between the backup and its restore. The config that it names then is unused after the restore, and the
 * other one is used. The index knows the state before the restore, and its watches are at versions that do not exist.
 */
const etcdRestored: Fault = {
  name: 'etcd-restored',
  title: 'etcd is restored from an older backup',
  seen:
    '`versions went back from … to …` in the log; ' +
    '[dangling references](runbooks/MachineConfigGuardDanglingReference.md)',
  requiredAnswer: 'no answer',
  durationMs: 1_000,
  prepare: async ({ controlPlane }, prober) => {
    const { admin } = controlPlane.apiServer;
    await prober.stop();
    await controlPlane.backUpEtcd();
    const path = `${PATHS.nodes}/${prober.node}`;
    await until('the API server to reach etcd again', () => admin.isReady('/readyz'), {
      timeoutMs: 60_000,
    });
    for (let write = 0; write < WRITES_AFTER_BACKUP; write += 1) {
      await admin.patch(path, { metadata: { annotations: { write: String(write) } } });
    }
    await admin.patch(path, nodeConfigPatch({ currentConfig: prober.configs.unused }));
    prober.configs = swapConfigs(prober.configs);
    prober.resume();
    await prober.awaitRightAnswers(performance.now());
  },
  inject: async ({ controlPlane }, prober) => {
    await prober.stop();
    await controlPlane.kill();
    prober.configs = swapConfigs(prober.configs);
    prober.resume();
    return () => controlPlane.restoreEtcd();
  },
};

function swapConfigs({ used, unused }: Prober['configs']): Prober['configs'] {
  return { used: unused, unused: used };
}

export const API_SERVER_FAULTS = [apiServerKilled, apiServerFrozen, etcdRestored];
