import { checkCluster } from '../../src/cli/check/check-cluster.ts';
import { formatCheckReport } from '../../src/cli/check/format-report.ts';
import { restore } from '../../src/cli/restore/restore-run.ts';
import { CommandFormatter } from '../../src/client/output/advice.ts';
import { applyStyle, type Style, type TextFormat, wrapBeside } from '../../src/client/output/text-format.ts';
import { objectPath } from '../../src/kube/api-paths.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { ApiError } from '../../src/kube/errors.ts';
import { parseRenderedConfig } from '../../src/rendered-config/rendered-config.ts';
import { withDemoCluster } from './demo-cluster.ts';
import { FIRST, Masters, SECOND } from './masters.ts';
import { MACHINE_CONFIGS_PATH } from '../../src/mco/api-paths.ts';

const INTRO = `
Simulated: hosts, API server and operator. Real: the guard, check and restore.

The Machine Config Operator merges all MachineConfigs of a pool of nodes into one rendered MachineConfig, such as \
rendered-master-1a2b3c4d (this demo shortens the names). Every node names two of them: the config that it runs \
(current) and the config that it should run (desired). If one of them does not exist, the node turns Degraded: its \
machine-config-daemon cannot update it.`;

const UNGUARDED = `
During an install, the operator rolls out a second rendered config. control2 still runs the first one. Then a clean-up \
job deletes the first one, because no pool names it and the job does not check the nodes. (The operator itself deletes \
no rendered configs. Jobs, scripts and people do.)
`;
const GUARDED = `
The guard is a validating webhook for deletions. By default it also denies the deletion of a config for 2 hours after \
a pool last named it. This demo switches that off.
`;
const CONCLUSION = `
Without the guard, the install is stuck until restore creates the config again from the disk of a node. With it, the \
install completes, because the guard denies the deletion of a config in use. check and restore also help if a config \
was never in the API, which no guard can prevent.

Next: try the guard and kubectl on a real API server ("Try it" in README.md).`;

const TIMEOUT_MS = 10_000;
const INDENT = '    ';
const RENDERED_NAME = /(?<=rendered-[\w.-]+-[0-9a-f]{8})[0-9a-f]{24}(?![0-9a-f])/g;

/** @returns whether the install is stuck without the guard, and completes after the restore and with the guard */
export async function runDemo(format: TextFormat, write: (text: string) => void): Promise<boolean> {
  const print = (text: string, style?: Style, label = ''): void => {
    const lines = text.replaceAll(RENDERED_NAME, '').split('\n');
    const wrapped = lines.map((line) => (line === '' ? '' : wrapBeside(label, line, format.width)));
    write(`${applyStyle(format, style, wrapped.join('\n'))}\n`);
  };
  const printEvent = (actor: string, message: string): void => {
    const isBad = message.includes('is Degraded') || message.startsWith('stuck');
    const style = actor === 'restore' ? 'bold' : undefined;
    print(message, isBad ? 'red' : style, actor.padEnd(10));
  };

  /** A job that deletes the config that no pool names, and ignores the nodes. */
  const deleteFirst = async ({ nodes }: Masters, api: KubeApi): Promise<void> => {
    const { name } = FIRST.metadata;
    const isInUse = nodes.some(({ currentConfig }) => currentConfig === name);
    const path = objectPath(MACHINE_CONFIGS_PATH, name);
    try {
      await api.json({ method: 'DELETE', path, signal: AbortSignal.timeout(TIMEOUT_MS) });
      printEvent('clean-up', `deletes ${name}, ${isInUse ? 'although a node runs it' : 'which no node uses any more'}`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      printEvent('clean-up', `tries to delete ${name}: denied`);
      print(`\nError from server (${error.reason}): ${error.message}\n`, 'magenta', INDENT);
    }
  };

  /** Returns whether the install is complete: else every actor waits for another one, which is a deadlock. */
  const finish = (masters: Masters): boolean => {
    masters.settle();
    const { nodes, updatedCount, degradedCount } = masters;
    const isComplete = updatedCount === nodes.length;
    const counts = `${updatedCount} of ${nodes.length} masters updated, ${degradedCount} Degraded`;
    const end = isComplete ? `complete: all ${nodes.length} masters run ${SECOND.metadata.name}` : `stuck: ${counts}`;
    printEvent('install', end);
    return isComplete;
  };

  const checkAndRestore = async (masters: Masters, api: KubeApi): Promise<boolean> => {
    print('\n$ machineconfig-guard check\n', 'bold', INDENT);
    const { report, causes } = await checkCluster(api);
    const firstRepair = { ...report, repairs: report.repairs.slice(0, 1) };
    const width = format.width - INDENT.length;
    const commands = new CommandFormatter('machineconfig-guard', {});
    const text = formatCheckReport({ ...format, width, columns: width, commands }, { report: firstRepair, causes });
    write(text.replaceAll(/^(?=.)/gm, INDENT));
    print('\n$ machineconfig-guard restore --from node/control2 --confirm\n', 'bold', INDENT);
    await restore(api, {
      // The machine-config-server wrote it to /etc/mcs-machine-config-content.json of the node.
      configs: [parseRenderedConfig(JSON.stringify(FIRST), { type: 'node', label: 'node/control2', node: 'control2' })],
      isConfirmed: true,
      acceptContent: false,
      controlPlaneReplicas: masters.nodes.length,
      timeoutMs: 600_000,
      sleep: async () => masters.settle(),
      onProgress: (progress) => printEvent('restore', progress),
    });
    return finish(masters);
  };

  print('This demo replays an incident of OpenShift installs on a cluster in memory.', 'bold');
  print(INTRO);
  print('\n1. A config in use is deleted, without the guard', 'bold');
  print(UNGUARDED.trimStart());
  const isRepaired = await withDemoCluster(false, async (api, cluster) => {
    const masters = new Masters(cluster, printEvent);
    await deleteFirst(masters, api);
    return !finish(masters) && (await checkAndRestore(masters, api));
  });
  print('\n2. The same install with the guard', 'bold');
  print(GUARDED.trimStart());
  const isPrevented = await withDemoCluster(true, async (api, cluster) => {
    const masters = new Masters(cluster, printEvent);
    await deleteFirst(masters, api);
    masters.settle();
    await deleteFirst(masters, api);
    return finish(masters);
  });
  print(CONCLUSION, 'bold');
  return isRepaired && isPrevented;
}
