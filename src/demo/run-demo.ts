import { checkCluster } from '../cli/check/check-cluster.ts';
import { formatCheckReport } from '../cli/check/format-report.ts';
import { restore } from '../cli/restore/restore-run.ts';
import { CommandFormatter } from '../client/output/advice.ts';
import { MACHINE_CONFIGS_PATH, objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError } from '../kube/errors.ts';
import { parseRenderedConfig } from '../rendered-config/rendered-config.ts';
import { createLocalTls, withDemoCluster } from './demo-cluster.ts';
import { Masters, renderMachineConfig } from './masters.ts';
import type { StoryPrinter } from './story-printer.ts';

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

const HOSTS = ['control0', 'control1', 'control2'] as const;
/** The two rendered configs differ in this file. */
const FIRST = renderMachineConfig('server 0.rhel.pool.ntp.org iburst\n');
const SECOND = renderMachineConfig('server ntp.example.com iburst\n');
const TIMEOUT_MS = 10_000;

/** @returns whether every install is stuck without the guard or the restore, and completes with them */
export async function runDemo(printer: StoryPrinter): Promise<boolean> {
  printer.print('This demo replays two incidents of OpenShift installs on a cluster in memory.', 'bold');
  printer.print(INTRO);
  const tls = await createLocalTls();
  const replay = async (story: keyof typeof STORIES): Promise<boolean> =>
    await withDemoCluster(tls, story !== 'unguarded', async (api, cluster) => {
      printer.print(`\n${STORIES[story].title}`, 'bold');
      printer.print(`${STORIES[story].explanation}\n`);
      const isMissing = story === 'missing';
      // Without the third etcd member no master can be drained, so the operator cannot recover alone.
      const masters = new Masters(cluster, isMissing ? HOSTS.length : 0, printer.printEvent);
      const cleanUp = async () => (isMissing ? undefined : deleteUnnamedConfigs(masters, api, printer));
      await install(masters, isMissing, printer, cleanUp);
      const isComplete = reportEnd(masters, printer);
      if (!isMissing) return isComplete === (story === 'guarded');
      await checkAndRestore(masters, api, printer);
      return !isComplete && reportEnd(masters, printer);
    });
  const areExpected = [await replay('unguarded'), await replay('guarded'), await replay('missing')];
  if (areExpected.includes(false)) return false;
  printer.print(CONCLUSION, 'bold');
  printer.print('\nNext: try the guard and kubectl on a real API server ("Try it" in README.md).');
  return true;
}

/** An agent-based install of three masters. One of them runs the bootstrap first. */
async function install(
  masters: Masters,
  isMissing: boolean,
  { printEvent }: StoryPrinter,
  cleanUp: () => Promise<void>,
): Promise<void> {
  const [bootstrapHost, ...others] = HOSTS;
  printEvent('hosts', `${HOSTS.join(', ')} boot; ${bootstrapHost} runs the bootstrap`);
  const place = isMissing ? `on the disk of ${bootstrapHost}, not in the API` : 'for pool master';
  printEvent('bootstrap', `renders ${FIRST.metadata.name} ${place}`);
  if (!isMissing) masters.rollOut(FIRST);
  for (const host of others) masters.join(host, FIRST);
  printEvent('hosts', `${others.join(' and ')} join, running ${FIRST.metadata.name}`);
  masters.rollOut(SECOND);
  const change = isMissing ? 'renders other content' : 'new MachineConfig';
  printEvent('operator', `${change}: pool master -> ${SECOND.metadata.name}`);
  masters.settle(({ currentConfig }) => currentConfig === SECOND.metadata.name);
  await cleanUp();
  masters.settle();
  // The installer waits only for Ready masters, which does not mean that their configs exist.
  printEvent('installer', `${others.length} masters are Ready, bootstrap complete: reboots ${bootstrapHost}`);
  masters.boot(bootstrapHost);
  masters.settle();
  await cleanUp();
}

/** Returns whether the install is complete: else every actor waits for another one, which is a deadlock. */
function reportEnd({ nodes, pool }: Masters, { printEvent }: StoryPrinter): boolean {
  const isComplete = pool.statusConfig === pool.config && pool.updatedMachineCount === HOSTS.length;
  const degraded = nodes.filter(({ state }) => state === 'Degraded').length;
  const counts = `${pool.updatedMachineCount} of ${nodes.length} masters updated, ${degraded} Degraded`;
  printEvent('install', isComplete ? `complete: all ${HOSTS.length} masters run ${pool.config}` : `stuck: ${counts}`);
  return isComplete;
}

/**
 * A job that deletes the rendered configs that no pool references, and ignores the nodes. The Machine Config
 * Operator deletes none (pkg/controller/render, garbageCollectRenderedConfigs).
 */
async function deleteUnnamedConfigs(masters: Masters, api: KubeApi, printer: StoryPrinter): Promise<void> {
  const { config, statusConfig } = masters.pool;
  for (const name of masters.configNames.filter((candidate) => candidate !== config && candidate !== statusConfig)) {
    // For the reader. The job does not check nodes.
    const users = masters.nodes.filter((node) => [node.currentConfig, node.desiredConfig].includes(name));
    const nodes = users.map((node) => node.name).join(', ');
    const use = nodes === '' ? 'which no node uses any more' : `although ${nodes} runs it`;
    const path = objectPath(MACHINE_CONFIGS_PATH, name);
    try {
      await api.json({ method: 'DELETE', path, signal: AbortSignal.timeout(TIMEOUT_MS) });
      printer.printEvent('clean-up', `deletes ${name}, ${use}`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      printer.printEvent('clean-up', `tries to delete ${name}: denied`);
      printer.print(`\nError from server (${error.reason}): ${error.message}\n`, 'magenta', '    ');
    }
  }
}

async function checkAndRestore(masters: Masters, api: KubeApi, printer: StoryPrinter): Promise<void> {
  printer.printCommand('check');
  const { repairs, ...report } = await checkCluster(api);
  const commands = new CommandFormatter('machineconfig-guard', {});
  printer.printOutput((format) =>
    formatCheckReport({ ...format, commands }, { ...report, repairs: repairs.slice(0, 1) }),
  );
  printer.printCommand('restore --from node/control1 --confirm');
  // The machine-config-server wrote it to /etc/mcs-machine-config-content.json of the node.
  const content = JSON.stringify(masters.disks.get('control1'));
  await restore(api, {
    configs: [parseRenderedConfig(content, 'node/control1')],
    isConfirmed: true,
    acceptContent: false,
    controlPlaneReplicas: HOSTS.length,
    timeoutMs: 600_000,
    // Longer than any real pause, so the result does not depend on the machine.
    intervalMs: 10_000,
    sleep: async () => masters.settle(),
    onProgress: (text) => printer.printEvent('restore', text),
  });
  masters.settle();
}
