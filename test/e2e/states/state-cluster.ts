import { isDeepStrictEqual } from 'node:util';
import { FAILED_STATES } from '../../../src/diagnosis/findings.ts';
import { findPoolOfNode } from '../../../src/mco/pool-of-node.ts';
import { buildState, getState, renderConfig } from '../../diagnosis/states.ts';
import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { type Cluster, hasCondition, type Pool } from '../support/cluster.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS, readAnnotations } from '../support/objects.ts';
import { MCO_GROUP } from '../../../src/mco/api-paths.ts';

const CONFIG_MAPS = `${PATHS.namespaces}/kube-system/configmaps`;
const API_VERSION = `${MCO_GROUP}/v1`;
/** Longer than the way out of every state. */
const MAX_ROUNDS = 30;

type Content = ReturnType<typeof renderConfig>;
type Annotations = Readonly<Record<string, string>>;
type Write = () => Promise<unknown>;

/** What the disk of a node has, and how its daemon treats it. */
export interface Disk {
  readonly config: Content;
  /** It has been updated, so its disk counts instead of its annotation (machine-config-operator, pkg/daemon). */
  readonly hasUpdateFile?: boolean;
  /** Daemons of OpenShift 4.4 get the config of the disk from the API (machine-config-operator#2010). */
  readonly isOldDaemon?: boolean;
}

interface Snapshot {
  readonly pools: readonly Pool[];
  readonly nodes: readonly KubeObject[];
  readonly configs: ReadonlySet<string>;
}

/** The simulated operator and daemons of a cluster in a state. They act until nothing changes any more. */
export class StateCluster {
  readonly #cluster: Cluster;
  readonly #admin: KubeClient;
  readonly #disks = new Map<string, Disk>();

  constructor({ cluster }: InstalledCluster) {
    this.#cluster = cluster;
    this.#admin = cluster.admin;
  }

  /** Creates the objects of a state in test/diagnosis/states.yaml. @param disk of Degraded nodes */
  async create(name: string, disk?: Disk): Promise<void> {
    const admin = this.#admin;
    const { nodes, pools, configs, replicas } = buildState(getState(name).text, new Date());
    this.#disks.clear();
    for (const { name: config, spec } of configs) await this.#createConfig(config, spec);
    for (const pool of pools) {
      await admin.create(PATHS.pools, { apiVersion: API_VERSION, kind: 'MachineConfigPool', ...pool });
      await admin.patch(`${PATHS.pools}/${String(pool.metadata?.name)}/status`, { status: pool.status });
    }
    for (const node of nodes) {
      await admin.create(PATHS.nodes, { apiVersion: 'v1', kind: 'Node', ...node });
      const { currentConfig, state } = readAnnotations(node as unknown as KubeObject);
      const current = configs.find((config) => config.name === currentConfig);
      const own = state === 'Done' ? undefined : disk;
      const config = own ?? (current && { config: current });
      if (config !== undefined) this.#disks.set(String(node.metadata?.name), config);
    }
    const metadata = { name: 'cluster-config-v1' };
    await admin.delete(`${CONFIG_MAPS}/${metadata.name}`);
    if (replicas === undefined) return;
    const data = { 'install-config': `controlPlane:\n  replicas: ${replicas}\n` };
    await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  }

  /** The file of a node that the daemon's pod can read. */
  readDisk(node: string): string {
    const { name, spec } = this.#disks.get(node)?.config ?? {};
    return JSON.stringify({ metadata: { name }, spec });
  }

  async settle(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const snapshot: Snapshot = {
        pools: (await this.#admin.list(PATHS.pools)) as readonly Pool[],
        nodes: await this.#admin.list(PATHS.nodes),
        configs: new Set((await this.#admin.list(PATHS.configs)).map(({ metadata }) => metadata.name)),
      };
      const writes = [
        ...snapshot.nodes.map((node) => this.#actAsDaemon(node, snapshot)),
        ...snapshot.pools.map((pool) => this.#actAsOperator(pool, snapshot)),
      ].filter((write) => write !== undefined);
      if (writes.length === 0) return;
      for (const write of writes) await write();
    }
    throw new Error('the cluster does not settle');
  }

  /** Lets the operator and the daemons act until a step ends. */
  async actDuring<Result>(step: Promise<Result>): Promise<Result> {
    const ended = new AbortController();
    const act = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        await this.settle();
        await pause(100);
      }
    };
    const [result] = await Promise.all([step.finally(() => ended.abort()), act()]);
    return result;
  }

  #actAsDaemon(node: KubeObject, { configs }: Snapshot): Write | undefined {
    const { name } = node.metadata;
    const disk = this.#disks.get(name);
    const annotations = readAnnotations(node);
    const { currentConfig = '', desiredConfig = '', state = '', reason = '' } = annotations;
    const report = (values: Annotations): Write | undefined => {
      const isReported = Object.entries(values).every(([key, value]) => annotations[key] === value);
      return isReported ? undefined : () => this.#cluster.moveNode(name, values);
    };
    // Other failures stay until a person ends them.
    if (disk === undefined || (FAILED_STATES.has(state) && !/not found|on-disk/.test(reason))) return undefined;
    const fail = (text: string) => report({ state: 'Degraded', reason: text });
    const own = disk.isOldDaemon === true ? [disk.config.name] : [];
    const missing = [currentConfig, desiredConfig, ...own].find((config) => !configs.has(config));
    if (missing !== undefined) return fail(`machineconfig.${MCO_GROUP} "${missing}" not found`);
    if (disk.hasUpdateFile !== true && disk.isOldDaemon !== true && disk.config.name !== currentConfig)
      return fail(`unexpected on-disk state validating against ${currentConfig}: content mismatch for file "/etc/x"`);
    const config = findContent(desiredConfig);
    if (config !== undefined) this.#disks.set(name, { ...disk, config });
    return report({ currentConfig: desiredConfig, desiredConfig, state: 'Done', reason: '' });
  }

  #actAsOperator(pool: Pool, { pools, nodes, configs }: Snapshot): Write | undefined {
    const path = `${PATHS.pools}/${pool.metadata.name}/status`;
    const { configuration, paused } = pool.spec;
    const { name: spec = '' } = configuration ?? {};
    const { configuration: served } = pool.status ?? {};
    const isBroken = hasCondition(pool, 'RenderDegraded');
    if (!configs.has(spec)) {
      const content = isBroken ? undefined : findContent(spec);
      return content && (() => this.#createConfig(spec, content.spec));
    }
    if (isBroken) return () => this.#admin.patch(path, { status: { conditions: [] } });
    const referrers = pools.map(({ metadata, spec: { nodeSelector = {} } }) => ({
      referrer: { name: metadata.name, nodeSelector },
    }));
    const own = nodes
      .filter(({ metadata }) => {
        return findPoolOfNode(metadata.labels ?? {}, referrers).pool?.referrer.name === pool.metadata.name;
      })
      .map((node): Annotations & { readonly name: string } => ({
        ...readAnnotations(node),
        name: node.metadata.name,
      }));
    const waiting = own.find(({ state, desiredConfig }) => state === 'Done' && desiredConfig !== spec);
    if (waiting !== undefined && own.every(({ state }) => state === 'Done') && paused !== true)
      return () => this.#cluster.moveNode(waiting.name, { desiredConfig: spec });
    const counts = {
      machineCount: own.length,
      updatedMachineCount: own.filter(({ state, currentConfig }) => state === 'Done' && currentConfig === spec).length,
      degradedMachineCount: own.filter(({ state }) => state === 'Degraded').length,
    };
    const isUpdated = counts.updatedMachineCount === own.length;
    const status = { ...counts, ...(isUpdated && { configuration }) };
    const isReported = isDeepStrictEqual({ ...pool.status, ...counts }, pool.status);
    return isReported && (!isUpdated || served?.name === spec) ? undefined : () => this.#admin.patch(path, { status });
  }

  async #createConfig(name: string, spec: object): Promise<void> {
    const object = { apiVersion: API_VERSION, kind: 'MachineConfig', metadata: { name }, spec };
    await this.#admin.create(PATHS.configs, object);
  }
}

function findContent(name: string): Content | undefined {
  const pools = ['master', 'worker', 'worker-rt', 'infra'];
  const contents = pools.flatMap((pool) => Array.from('ABIWXYZ', (letter) => renderConfig(letter, pool)));
  return contents.find((content) => content.name === name);
}
