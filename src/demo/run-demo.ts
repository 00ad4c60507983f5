import { checkCluster } from '../cli/check/check-cluster.ts';
import { restore } from '../cli/restore/restore-run.ts';
import type { KubeApi } from '../kube/api.ts';
import { parseRenderedConfig } from '../rendered-config/rendered-config.ts';
import { createLocalTls, withDemoCluster } from './demo-cluster.ts';
import { runInstall, startInstall } from './install.ts';
import { Simulation } from './operator/simulation.ts';
import type { StoryPrinter } from './story-printer.ts';

const TITLE = 'This demo replays two incidents of OpenShift installs on a cluster in memory.';
const INTRO = `
Simulated: hosts, API server and operator. Real: the guard, check and restore.

The Machine Config Operator merges all MachineConfigs of a pool of nodes into one rendered MachineConfig, such as \
rendered-master-1a2b3c4d (this demo shortens the names). Every node names two of them: the config that it runs \
(current) and the config that it should run (desired). If one of them does not exist, the node turns Degraded: its \
machine-config-daemon cannot update it.`;

const STORIES = {
  unguarded: {
    title: '1a. A config in use is deleted, without the guard',
    explanation:
      'The operator rolls out a second rendered config. control1 already runs it, control2 still runs the first one. ' +
      'Then a clean-up job deletes the first one, because no pool names it and the job does not check the nodes. ' +
      '(The operator itself deletes no rendered configs. Jobs, scripts and people do.)',
  },
  guarded: {
    title: '1b. The same install with the guard',
    explanation:
      'The guard is a validating webhook for deletions. By default it also denies the deletion of a config for 2 ' +
      'hours after a pool last named it. This demo switches that off.',
  },
  missing: {
    title: '2. A config that was never in the API',
    explanation:
      'The guard runs, but nothing is deleted. The bootstrap renders a config on its own disk, and the first masters ' +
      'boot with it. The operator in the cluster renders other content under another name.',
  },
} as const;

const CONCLUSION = `
Without the guard, the first install never completes. With it, the install completes, because the guard denies the \
deletion of a config in use. The guard cannot create a config that never existed: check finds it, and restore creates \
it from the disk of a node.`;
const NEXT = '\nNext: try the guard and kubectl on a real API server ("Try it" in README.md).';

const MASTER_COUNT = 3;

/**
 * @param speed simulated seconds in a real second
 * @returns whether every install is stuck without the guard or the restore, and completes with them
 */
export async function runDemo(printer: StoryPrinter, speed: number): Promise<boolean> {
  printer.print(TITLE, 'bold');
  printer.print(INTRO);
  const tls = await createLocalTls();
  const onEvent = printer.printEvent.bind(printer);
  const replay = async (story: keyof typeof STORIES): Promise<boolean> =>
    await withDemoCluster(tls, story !== 'unguarded', async (api, server) => {
      printer.print(`\n${STORIES[story].title}`, 'bold');
      printer.print(`${STORIES[story].explanation}\n`);
      const isMissing = story === 'missing';
      // Without the third etcd member no master can be drained, so the operator cannot recover alone.
      const minMastersToDrain = isMissing ? MASTER_COUNT : 0;
      const simulation = new Simulation({ api, speed, minMastersToDrain, onEvent });
      startInstall(simulation, server, isMissing ? 'missing' : 'deleted');
      const isComplete = await runInstall(simulation);
      if (!isMissing) return isComplete === (story === 'guarded');
      await checkAndRestore(simulation, api, printer);
      return !isComplete && (await runInstall(simulation));
    });
  const areExpected = [await replay('unguarded'), await replay('guarded'), await replay('missing')];
  if (areExpected.includes(false)) return false;
  printer.print(CONCLUSION, 'bold');
  printer.print(NEXT);
  return true;
}

async function checkAndRestore(simulation: Simulation, api: KubeApi, printer: StoryPrinter): Promise<void> {
  printer.printCommand('check');
  printer.printCheck(await checkCluster(api));
  printer.printCommand('restore --from node/control1 --confirm');
  // The machine-config-server wrote it to /etc/mcs-machine-config-content.json of the node.
  const content = JSON.stringify(simulation.disks.get('control1'));
  await restore(api, {
    configs: [parseRenderedConfig(content, 'node/control1')],
    isConfirmed: true,
    acceptContent: false,
    controlPlaneReplicas: MASTER_COUNT,
    timeoutMs: 600_000,
    // Longer than any real pause, so the result does not depend on the machine.
    intervalMs: 10_000,
    sleep: async (ms) => await simulation.run(ms / 1_000),
    onProgress: (text) => simulation.record('restore', text),
  });
}
