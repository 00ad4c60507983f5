import { isDeepStrictEqual } from 'node:util';
import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { MCO, nodePatch, PATHS, readAnnotations } from '../support/objects.ts';
import { type Files, SERVED_FILE } from './machine-config-server.ts';

/** The machine-config-server writes the annotations of the node that it expects. */
const ANNOTATIONS_FILE = '/etc/machine-config-daemon/node-annotations.json';
/** The daemon writes the config of its last update. */
export const CURRENT_FILE = '/etc/machine-config-daemon/currentconfig';
const INTERVAL_MS = 250;

export type Machine = Awaited<ReturnType<typeof bootMachine>>;

/**
 * Boots a machine with these files of the real machine-config-server, and joins the cluster. Its kubelet and its
 * machine-config-daemon are simulated: it does at once what takes a real one minutes (machine-config-operator,
 * pkg/daemon/daemon.go, update.go).
 */
export async function bootMachine(admin: KubeClient, name: string, files: Files, roles: readonly string[]) {
  const path = `${PATHS.nodes}/${name}`;
  const power = new AbortController();
  const labels = Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, '']));
  const metadata = { name, labels: { 'kubernetes.io/os': 'linux', ...labels } };
  await admin.create(PATHS.nodes, { apiVersion: 'v1', kind: 'Node', metadata });
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }];
  await admin.patch(`${path}/status`, { status: { conditions } });
  await admin.patch(path, { metadata: { annotations: JSON.parse(files.get(ANNOTATIONS_FILE) ?? '') as object } });

  const machine = {
    name,
    disk: new Map(files),
    /** Daemons of OpenShift 4.4 also get the config of the disk (machine-config-operator#2010). */
    needsConfigOfDisk: false,
    /** The config of the last update. The annotations that the server has written say Done before the first one. */
    updatedTo: '',
    /**
     * Switches the machine off and removes its node.
     * @throws Error if the simulated daemon has failed
     */
    leave: async () => {
      power.abort();
      const [result] = await daemon;
      await admin.delete(path);
      if (result.status === 'rejected') throw new Error(`the daemon of ${name} failed`, { cause: result.reason });
    },
  };
  let synced = '';
  const findConfig = (config: string) => admin.find(`${PATHS.configs}/${config}`);
  const annotate = (values: Readonly<Record<string, string>>) => admin.patch(path, nodePatch(values));
  const readNode = async () => readAnnotations((await admin.find(path)) ?? { metadata: { name } });

  /** The real machine-config-controller cordons and drains the node on request, and uncordons it. */
  async function requestDrain(request: string) {
    await annotate({ desiredDrain: request });
    while (!power.signal.aborted && (await readNode())['lastAppliedDrain'] !== request) await pause(INTERVAL_MS);
  }

  /** Why the daemon cannot update. */
  async function findFailure(names: readonly [string, string], current?: KubeObject, desired?: KubeObject) {
    if (current === undefined) return `missing MachineConfig ${names[0]}`;
    if (desired === undefined) return `missing MachineConfig ${names[1]}`;
    const text = machine.disk.get(CURRENT_FILE) ?? machine.disk.get(SERVED_FILE) ?? '';
    const own = JSON.parse(text) as Pick<KubeObject, 'metadata' | 'spec'>;
    if (!machine.needsConfigOfDisk)
      return isDeepStrictEqual(own.spec, current.spec) ? undefined : 'unexpected on-disk state';
    const exists = (await findConfig(own.metadata.name)) !== undefined;
    return exists ? undefined : `machineconfig.${MCO} "${own.metadata.name}" not found`;
  }

  /** A Degraded daemon retries. Otherwise it acts on changes of its node alone, and so misses deleted configs. */
  async function sync() {
    const { currentConfig = '', desiredConfig = '', state } = await readNode();
    const input = `${currentConfig} ${desiredConfig}`;
    if (state !== 'Degraded' && input === synced) return;
    synced = input;
    const [current, desired] = [await findConfig(currentConfig), await findConfig(desiredConfig)];
    const reason = await findFailure([currentConfig, desiredConfig], current, desired);
    if (reason !== undefined) {
      await annotate({ state: 'Degraded', reason });
      return;
    }
    if (currentConfig !== desiredConfig) {
      await annotate({ state: 'Working', reason: '' });
      await requestDrain(`drain-${desiredConfig}`);
    }
    // As client-go marshals a typed object: without kind and apiVersion.
    machine.disk.set(CURRENT_FILE, JSON.stringify({ metadata: desired?.metadata, spec: desired?.spec }));
    // Also after the first boot, and when the daemon is no longer Degraded.
    await requestDrain(`uncordon-${desiredConfig}`);
    await annotate({ currentConfig: desiredConfig, state: 'Done', reason: '' });
    synced = `${desiredConfig} ${desiredConfig}`;
    machine.updatedTo = desiredConfig;
  }

  async function run() {
    for (; !power.signal.aborted; await pause(INTERVAL_MS)) await sync();
  }

  // Settled, so that a failure is no unhandled rejection before the machine stops.
  const daemon = Promise.allSettled([run()]);
  return machine;
}
