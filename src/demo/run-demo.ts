import { checkCluster } from '../cli/check/check-cluster.ts';
import { formatCheckReport } from '../cli/check/format-report.ts';
import { restore } from '../cli/restore/restore-run.ts';
import { CommandFormatter } from '../client/output/advice.ts';
import { applyStyle, type Style, type TextFormat, wrapBeside } from '../client/output/text-format.ts';
import { MACHINE_CONFIGS_PATH, objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError } from '../kube/errors.ts';
import { parseRenderedConfig } from '../rendered-config/rendered-config.ts';
import { createLocalTls, withDemoCluster } from './demo-cluster.ts';
import { Masters, renderMachineConfig } from './masters.ts';

const INTRO = `
Simulated: hosts, API server and operator. Real: the guard, check and restore.

The Machine Config Operator merges all MachineConfigs of a pool of nodes into one rendered MachineConfig, such as \
rendered-master-1a2b3c4d (this demo shortens the names). Every node names two of them: the config that it runs \
(current) and the config that it should run (desired). If one of them does not exist, the node turns Degraded: its \
machine-config-daemon cannot update it.`;

const UNGUARDED = `
The operator rolls out a second rendered config. control1 already runs it, control2 still runs the first one. Then a \
clean-up job deletes the first one, because no pool names it and the job does not check the nodes. (The operator \
itself deletes no rendered configs. Jobs, scripts and people do.)
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

const HOSTS = ['control0', 'control1', 'control2'] as const;
const FIRST = renderMachineConfig('server 0.rhel.pool.ntp.org iburst\n');
const SECOND = renderMachineConfig('server ntp.example.com iburst\n');
const TIMEOUT_MS = 10_000;
const INDENT = '    ';
/** `check` shortens names in its tables to the same length. */
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
    print(message, isBad ? 'red' : actor === 'restore' ? 'bold' : undefined, actor.padEnd(10));
  };

  /** An agent-based install of three masters. One of them runs the bootstrap first. */
  const install = async (masters: Masters, api: KubeApi): Promise<boolean> => {
    const [bootstrapHost, ...others] = HOSTS;
    printEvent('hosts', `${HOSTS.join(', ')} boot; ${bootstrapHost} runs the bootstrap`);
    masters.rollOut(FIRST);
    for (const host of others) masters.join(host, FIRST);
    printEvent('hosts', `${others.join(' and ')} join, running ${FIRST.metadata.name}`);
    masters.rollOut(SECOND);
    printEvent('operator', `new MachineConfig: pool master -> ${SECOND.metadata.name}`);
    masters.settle(({ currentConfig }) => currentConfig === SECOND.metadata.name);
    await deleteUnnamedConfigs(masters, api);
    masters.settle();
    // The installer waits only for Ready masters, which does not mean that their configs exist.
    printEvent('installer', `${others.length} masters are Ready, bootstrap complete: reboots ${bootstrapHost}`);
    masters.join(bootstrapHost, SECOND);
    printEvent('hosts', `${bootstrapHost} joins, running ${SECOND.metadata.name}`);
    masters.settle();
    await deleteUnnamedConfigs(masters, api);
    return reportEnd(masters);
  };

  /** Returns whether the install is complete: else every actor waits for another one, which is a deadlock. */
  const reportEnd = ({ nodes, pool }: Masters): boolean => {
    const isComplete = pool.statusConfig === pool.config && pool.updatedMachineCount === HOSTS.length;
    const degraded = nodes.filter(({ state }) => state === 'Degraded').length;
    const counts = `${pool.updatedMachineCount} of ${nodes.length} masters updated, ${degraded} Degraded`;
    printEvent('install', isComplete ? `complete: all ${HOSTS.length} masters run ${pool.config}` : `stuck: ${counts}`);
    return isComplete;
  };

  /**
   * A job that deletes the rendered configs that no pool references, and ignores the nodes. The Machine Config
   * Operator deletes none (pkg/controller/render, garbageCollectRenderedConfigs).
   */
  const deleteUnnamedConfigs = async (masters: Masters, api: KubeApi): Promise<void> => {
    const { config, statusConfig } = masters.pool;
    for (const name of masters.configNames.filter((candidate) => candidate !== config && candidate !== statusConfig)) {
      const isInUse = masters.nodes.some((node) => [node.currentConfig, node.desiredConfig].includes(name));
      const path = objectPath(MACHINE_CONFIGS_PATH, name);
      try {
        await api.json({ method: 'DELETE', path, signal: AbortSignal.timeout(TIMEOUT_MS) });
        printEvent(
          'clean-up',
          `deletes ${name}, ${isInUse ? 'although a node runs it' : 'which no node uses any more'}`,
        );
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        printEvent('clean-up', `tries to delete ${name}: denied`);
        print(`\nError from server (${error.reason}): ${error.message}\n`, 'magenta', INDENT);
      }
    }
  };

  const checkAndRestore = async (masters: Masters, api: KubeApi): Promise<boolean> => {
    print('\n$ machineconfig-guard check\n', 'bold', INDENT);
    const { repairs, ...report } = await checkCluster(api);
    const width = format.width - INDENT.length;
    const commands = new CommandFormatter('machineconfig-guard', {});
    const text = formatCheckReport(
      { ...format, width, columns: width, commands },
      { ...report, repairs: repairs.slice(0, 1) },
    );
    write(text.replaceAll(/^(?=.)/gm, INDENT));
    print('\n$ machineconfig-guard restore --from node/control2 --confirm\n', 'bold', INDENT);
    // The machine-config-server wrote it to /etc/mcs-machine-config-content.json of the node.
    const content = JSON.stringify(masters.disks.get('control2'));
    await restore(api, {
      configs: [parseRenderedConfig(content, 'node/control2')],
      isConfirmed: true,
      acceptContent: false,
      controlPlaneReplicas: HOSTS.length,
      timeoutMs: 600_000,
      // Longer than any real pause, so the result does not depend on the machine.
      intervalMs: 10_000,
      sleep: async () => masters.settle(),
      onProgress: (progress) => printEvent('restore', progress),
    });
    masters.settle();
    return reportEnd(masters);
  };

  print('This demo replays an incident of OpenShift installs on a cluster in memory.', 'bold');
  print(INTRO);
  const tls = await createLocalTls();
  print('\n1. A config in use is deleted, without the guard', 'bold');
  print(UNGUARDED.trimStart());
  const isRepaired = await withDemoCluster(tls, false, async (api, cluster) => {
    const masters = new Masters(cluster, printEvent);
    return !(await install(masters, api)) && (await checkAndRestore(masters, api));
  });
  print('\n2. The same install with the guard', 'bold');
  print(GUARDED.trimStart());
  const isPrevented = await withDemoCluster(tls, true, (api, cluster) =>
    install(new Masters(cluster, printEvent), api),
  );
  print(CONCLUSION, 'bold');
  return isRepaired && isPrevented;
}
