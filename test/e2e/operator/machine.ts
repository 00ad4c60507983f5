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

/**
 * A machine whose disk holds what the real machine-config-server served. Its kubelet and its machine-config-daemon are
 * simulated: it does at once what takes a real one minutes (machine-config-operator, pkg/daemon/daemon.go, update.go).
 */
export class Machine {
  readonly name: string;
  readonly disk: Map<string, string>;
  /** Daemons of OpenShift 4.4 also get the config of the disk (machine-config-operator#2010). */
  needsConfigOfDisk = false;
  /** The config of the last update. The annotations that the server has written say Done before the first one. */
  updatedTo = '';
  readonly #admin: KubeClient;
  readonly #path: string;
  readonly #daemon: Promise<PromiseSettledResult<void>[]>;
  #isRunning = true;
  #synced = '';

  private constructor(admin: KubeClient, name: string, files: Files) {
    this.#admin = admin;
    this.name = name;
    this.disk = new Map(files);
    this.#path = `${PATHS.nodes}/${name}`;
    // Settled, so that a failure is no unhandled rejection before the machine stops.
    this.#daemon = Promise.allSettled([this.#runDaemon()]);
  }

  /** Boots with these files and joins the cluster. */
  static async join(admin: KubeClient, name: string, files: Files, roles: readonly string[]): Promise<Machine> {
    const labels = {
      'kubernetes.io/os': 'linux',
      ...Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, ''])),
    };
    await admin.create(PATHS.nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
    const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }];
    await admin.patch(`${PATHS.nodes}/${name}/status`, { status: { conditions } });
    const annotations = JSON.parse(files.get(ANNOTATIONS_FILE) ?? '') as object;
    await admin.patch(`${PATHS.nodes}/${name}`, { metadata: { annotations } });
    return new Machine(admin, name, files);
  }

  /**
   * Switches the machine off and removes its node.
   *
   * @throws Error if the simulated daemon has failed
   */
  async leave(): Promise<void> {
    this.#isRunning = false;
    const [result] = await this.#daemon;
    await this.#admin.delete(this.#path);
    if (result?.status === 'rejected') throw new Error(`the daemon of ${this.name} failed`, { cause: result.reason });
  }

  async #runDaemon() {
    while (this.#isRunning) {
      await this.#sync();
      await pause(INTERVAL_MS);
    }
  }

  /** A Degraded daemon retries. Otherwise it acts on changes of its node alone, and so misses deleted configs. */
  async #sync() {
    const { currentConfig = '', desiredConfig = '', state } = await this.#readAnnotations();
    const input = `${currentConfig} ${desiredConfig}`;
    if (state !== 'Degraded' && input === this.#synced) return;
    this.#synced = input;
    const [current, desired] = [await this.#findConfig(currentConfig), await this.#findConfig(desiredConfig)];
    if (current === undefined || desired === undefined) {
      const missing = current === undefined ? currentConfig : desiredConfig;
      return this.#annotate({ state: 'Degraded', reason: `missing MachineConfig ${missing}` });
    }
    if (this.needsConfigOfDisk) {
      const { metadata } = this.#readDisk();
      if ((await this.#findConfig(metadata.name)) === undefined)
        return this.#annotate({ state: 'Degraded', reason: `machineconfig.${MCO} "${metadata.name}" not found` });
    } else if (!isDeepStrictEqual(this.#readDisk().spec, current.spec))
      return this.#annotate({ state: 'Degraded', reason: 'unexpected on-disk state' });
    if (currentConfig !== desiredConfig) {
      await this.#annotate({ state: 'Working', reason: '' });
      await this.#requestDrain(`drain-${desiredConfig}`);
    }
    // As client-go marshals a typed object: without kind and apiVersion.
    const { metadata, spec } = desired;
    this.disk.set(CURRENT_FILE, JSON.stringify({ metadata, spec }));
    // Also after the first boot, and when the daemon is no longer Degraded.
    await this.#requestDrain(`uncordon-${desiredConfig}`);
    await this.#annotate({ currentConfig: desiredConfig, state: 'Done', reason: '' });
    this.#synced = `${desiredConfig} ${desiredConfig}`;
    this.updatedTo = desiredConfig;
  }

  /** The real machine-config-controller cordons and drains the node on request, and uncordons it. */
  async #requestDrain(request: string) {
    await this.#annotate({ desiredDrain: request });
    while (this.#isRunning && (await this.#readAnnotations())['lastAppliedDrain'] !== request) await pause(INTERVAL_MS);
  }

  #readDisk(): Pick<KubeObject, 'metadata' | 'spec'> {
    const text = this.disk.get(CURRENT_FILE) ?? this.disk.get(SERVED_FILE) ?? '';
    return JSON.parse(text) as Pick<KubeObject, 'metadata' | 'spec'>;
  }

  #findConfig(name: string) {
    return this.#admin.find(`${PATHS.configs}/${name}`);
  }

  async #readAnnotations() {
    const node = await this.#admin.find(this.#path);
    return node === undefined ? {} : readAnnotations(node);
  }

  async #annotate(values: Readonly<Record<string, string>>) {
    await this.#admin.patch(this.#path, nodePatch(values));
  }
}
