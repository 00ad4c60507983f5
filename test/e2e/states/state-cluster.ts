import { FAILED_STATES } from '../../../src/diagnosis/findings.ts';
import { MCO_GROUP } from '../../../src/kube/api-paths.ts';
import { findPoolOfNode } from '../../../src/references/node-pool.ts';
import { buildState, renderConfig, type StateName, STATES } from '../../diagnosis/states.ts';
import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';

const CONFIG_MAPS = `${PATHS.namespaces}/kube-system/configmaps`;
const API_VERSION = `${MCO_GROUP}/v1`;
/** Longer than the way out of every state. */
const MAX_ROUNDS = 30;

type Content = ReturnType<typeof renderConfig>;

/** What the disk of a node has, and how its daemon treats it. */
export interface Disk {
  readonly config: Content;
  /** It has been updated, so its disk counts instead of its annotation (machine-config-operator, pkg/daemon). */
  readonly hasUpdateFile?: boolean;
  /** Daemons of OpenShift 4.4 get the config of the disk from the API (machine-config-operator#2010). */
  readonly isOldDaemon?: boolean;
}

interface Pool extends KubeObject {
  readonly spec: {
    readonly configuration: { readonly name?: string };
    readonly nodeSelector: object;
    readonly paused?: boolean;
  };
  readonly status?: {
    readonly configuration?: { readonly name?: string };
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** The simulated operator and daemons of a cluster in a state. They act until nothing changes any more. */
export class StateCluster {
  readonly #admin: KubeClient;
  readonly #disks = new Map<string, Disk>();

  constructor({ cluster }: InstalledCluster) {
    this.#admin = cluster.admin;
  }

  /** Creates the objects of a state. @param disk of the Degraded nodes. The others have what they name */
  async create(name: StateName, disk?: Disk): Promise<void> {
    const admin = this.#admin;
    const { nodes, pools, configs, replicas } = buildState(STATES[name], new Date());
    this.#disks.clear();
    for (const { name: config, spec } of configs) await this.#createConfig(config, spec);
    for (const { metadata, spec, status } of pools) {
      const kind = { apiVersion: API_VERSION, kind: 'MachineConfigPool' };
      await admin.create(PATHS.pools, { ...kind, metadata: { name: metadata?.name }, spec });
      await admin.patch(`${PATHS.pools}/${String(metadata?.name)}/status`, { status });
    }
    for (const { metadata } of nodes) {
      const {
        name: node,
        labels,
        annotations,
      } = metadata as { name: string; labels: object; annotations: Annotations };
      await admin.create(PATHS.nodes, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: node, labels, annotations },
      });
      const current = configs.find((config) => config.name === annotations[`${MCO_GROUP}/currentConfig`]);
      const own = annotations[`${MCO_GROUP}/state`] === 'Done' ? undefined : disk;
      if (own !== undefined || current !== undefined) this.#disks.set(node, own ?? { config: current as Content });
    }
    await admin.delete(`${CONFIG_MAPS}/cluster-config-v1`);
    if (replicas === undefined) return;
    const data = { 'install-config': `controlPlane:\n  replicas: ${replicas}\n` };
    await admin.create(CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'cluster-config-v1' },
      data,
    });
  }

  /** The file of a node that the daemon's pod can read. */
  readDisk(node: string): string {
    const { name, spec } = this.#disks.get(node)?.config ?? {};
    return JSON.stringify({ metadata: { name }, spec });
  }

  async settle(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const pools = (await this.#admin.list(PATHS.pools)) as readonly Pool[];
      const nodes = await this.#admin.list(PATHS.nodes);
      const configs = new Set((await this.#admin.list(PATHS.configs)).map(({ metadata }) => metadata.name));
      const writes = [
        ...nodes.flatMap((node) => this.#actAsDaemon(node, configs)),
        ...pools.flatMap((pool) => this.#actAsOperator(pool, pools, nodes, configs)),
      ];
      if (writes.length === 0) return;
      for (const write of writes) await write();
    }
    throw new Error('the cluster does not settle');
  }

  #actAsDaemon(node: KubeObject, configs: ReadonlySet<string>): Write[] {
    const disk = this.#disks.get(node.metadata.name);
    const { currentConfig = '', desiredConfig = '', state = '', reason = '' } = readAnnotations(node);
    const report = (values: Annotations): Write[] => {
      const isReported = Object.entries(values).every(([key, value]) => readAnnotations(node)[key] === value);
      return isReported ? [] : [() => this.#annotate(node.metadata.name, values)];
    };
    // Other failures stay until a person ends them.
    if (disk === undefined || (FAILED_STATES.has(state) && !/not found|on-disk/.test(reason))) return [];
    const fail = (text: string) => report({ state: 'Degraded', reason: text });
    const own = disk.isOldDaemon === true ? [disk.config.name] : [];
    const missing = [currentConfig, desiredConfig, ...own].find((config) => !configs.has(config));
    if (missing !== undefined) return fail(`machineconfig.${MCO_GROUP} "${missing}" not found`);
    const isTrusted = disk.hasUpdateFile === true || disk.isOldDaemon === true || disk.config.name === currentConfig;
    if (!isTrusted) {
      return fail(`unexpected on-disk state validating against ${currentConfig}: content mismatch for file "/etc/x"`);
    }
    const config = findContent(desiredConfig);
    if (config !== undefined) this.#disks.set(node.metadata.name, { ...disk, config });
    return report({ currentConfig: desiredConfig, desiredConfig, state: 'Done', reason: '' });
  }

  #actAsOperator(
    pool: Pool,
    pools: readonly Pool[],
    nodes: readonly KubeObject[],
    configs: ReadonlySet<string>,
  ): Write[] {
    const { name } = pool.metadata;
    const path = `${PATHS.pools}/${name}`;
    const { configuration, paused } = pool.spec;
    const spec = configuration.name ?? '';
    const isBroken = pool.status?.conditions?.some(
      ({ type, status }) => type === 'RenderDegraded' && status === 'True',
    );
    if (!configs.has(spec)) {
      const content = findContent(spec);
      return isBroken === true || content === undefined ? [] : [() => this.#createConfig(spec, content.spec)];
    }
    if (isBroken === true) return [() => this.#admin.patch(`${path}/status`, { status: { conditions: [] } })];
    const referrers = pools.map((each) => ({
      referrer: { name: each.metadata.name, nodeSelector: each.spec.nodeSelector },
    }));
    const own = nodes.filter(
      ({ metadata }) => findPoolOfNode(metadata.labels ?? {}, referrers).pool?.referrer.name === name,
    );
    const views = own.map((node) => {
      const { state, currentConfig, desiredConfig } = readAnnotations(node);
      return { name: node.metadata.name, state, currentConfig, desiredConfig };
    });
    const waiting = views.find(({ state, desiredConfig }) => state === 'Done' && desiredConfig !== spec);
    const isBusy = views.some(({ state }) => state !== 'Done');
    if (waiting !== undefined && !isBusy && paused !== true) {
      return [() => this.#annotate(waiting.name, { desiredConfig: spec })];
    }
    const updated = views.filter(({ state, currentConfig }) => state === 'Done' && currentConfig === spec).length;
    const degraded = views.filter(({ state }) => state === 'Degraded').length;
    const counts = { machineCount: own.length, updatedMachineCount: updated, degradedMachineCount: degraded };
    const status = { ...counts, ...(updated === own.length && { configuration }) };
    const isReported = Object.entries(counts).every(([key, count]) => (pool.status as Counts)[key] === count);
    const isServed = updated < own.length || pool.status?.configuration?.name === spec;
    return isReported && isServed ? [] : [() => this.#admin.patch(`${path}/status`, { status })];
  }

  async #createConfig(name: string, spec: object): Promise<void> {
    await this.#admin.create(PATHS.configs, {
      apiVersion: API_VERSION,
      kind: 'MachineConfig',
      metadata: { name },
      spec,
    });
  }

  async #annotate(node: string, values: Annotations): Promise<void> {
    const entries = Object.entries(values).map(([key, value]) => [`${MCO_GROUP}/${key}`, value]);
    await this.#admin.patch(`${PATHS.nodes}/${node}`, { metadata: { annotations: Object.fromEntries(entries) } });
  }
}

type Annotations = Readonly<Record<string, string>>;
type Counts = Readonly<Record<string, unknown>>;
type Write = () => Promise<unknown>;

function readAnnotations({ metadata }: KubeObject): Annotations {
  const entries = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key.replace(`${MCO_GROUP}/`, ''), value]));
}

function findContent(name: string): Content | undefined {
  const pools = ['master', 'worker', 'worker-rt', 'infra'];
  const contents = pools.flatMap((pool) => Array.from('ABIWXYZ', (letter) => renderConfig(letter, pool)));
  return contents.find((content) => content.name === name);
}
