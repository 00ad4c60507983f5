import { toSeconds } from '../../src/common/duration.ts';
import { type Change, InMemoryCluster } from '../support/in-memory-cluster/in-memory-cluster.ts';
import { parseResourcePath } from '../support/in-memory-cluster/kinds.ts';
import type { ApiRequest } from '../../src/kube/api.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { operatorAnnotations } from '../support/operator-objects.ts';
import { type ConfigName, toConfigName } from '../../src/mco/machine-config.ts';
import { BUILDS, MACHINE_CONFIGS, NODES, POOLS } from '../../src/mco/resources.ts';

/** The client deletes A. Only pools with a hold name C. */
const CONFIGS = ['A', 'B', 'C'] as const;
type Config = (typeof CONFIGS)[number];
export type ReferrerName = 'node-1' | 'node-2' | 'build-1' | 'worker' | 'infra';

/** A possible write of the operator, a kubelet or a person. */
export interface Write {
  readonly name: string;
  readonly resource: string;
  readonly object: ReferrerName;
  readonly apply: () => void;
}

interface Pool {
  readonly spec: Config;
  readonly status: Config;
  /** The condition `Updated`. */
  readonly isUpdated: boolean;
  readonly changedAt: Readonly<Record<'spec' | 'status' | 'updated', Date>>;
}

const RESOURCES = [NODES, POOLS, BUILDS, MACHINE_CONFIGS];
/** When the configs were created and the pools last changed before the start. */
export const LONG_AGO = new Date('2025-12-01T00:00:00Z');
export const CONFIG_A = { name: nameConfig('A'), uid: 'uid of A', createdAt: LONG_AGO };

/**
 * Two nodes and two pools, each of which names one of two configs, and perhaps a build with A. The second node names A
 * only as its desired config. Each kind counts its
 * versions separately, as the API allows. Otherwise a list would tell whether an object of another kind was written.
 */
export class TwoConfigCluster {
  readonly #clusters = new Map(RESOURCES.map(({ name }) => [name, new InMemoryCluster()]));
  /** Undefined for a node that has left and before the build. The build counts as naming B when it has ended. */
  readonly #nodesAndBuild = new Map<ReferrerName, Config | undefined>([['build-1', undefined]]);
  readonly #pools = new Map<ReferrerName, Pool>();
  readonly #hasHold: boolean;
  readonly #hasFlips: boolean;
  #poolNamedA = LONG_AGO;

  /**
   * @param namingA all other referrers name B
   * @param hasHold whether pools write spec, condition and status one after another, which only the hold can tell
   * @param hasFlips whether the condition also changes without a change of the config
   */
  constructor(namingA: readonly ReferrerName[], hasHold: boolean, hasFlips: boolean) {
    this.#hasHold = hasHold;
    this.#hasFlips = hasFlips;
    for (const config of CONFIGS) this.#put(MACHINE_CONFIGS.name, nameConfig(config), { uid: `uid of ${config}` });
    const findConfig = (name: ReferrerName): Config => (namingA.includes(name) ? 'A' : 'B');
    for (const name of ['node-1', 'node-2'] as const) this.#writeNodeOrBuild(name, findConfig(name));
    for (const name of ['worker', 'infra'] as const) {
      const changedAt = { spec: LONG_AGO, status: LONG_AGO, updated: LONG_AGO };
      this.#writePool(name, { spec: findConfig(name), status: findConfig(name), isUpdated: true, changedAt });
    }
  }

  get isInUse(): boolean {
    return this.#findReferrers().length > 0;
  }

  /** When the pool in the name of A last named it: now, if it does. */
  get poolNamedA(): Date {
    return this.#findReferrers().includes('worker') ? new Date() : this.#poolNamedA;
  }

  /** What the cluster does next depends only on it. */
  get state(): unknown {
    const clusters = [...this.#clusters].map(([resource, cluster]) => [cluster.version, cluster.list(resource)]);
    return [clusters, this.#poolNamedA];
  }

  describeReferrers(): string {
    return this.#findReferrers().join(' and ') || 'nothing';
  }

  writesOf(writers: readonly ReferrerName[]): readonly Write[] {
    const nodeWrites = [...this.#nodesAndBuild].flatMap(([name, config]) => this.#nodeOrBuildWrites(name, config));
    const poolWrites = [...this.#pools].flatMap(([name, pool]) => this.#poolWrites(name, pool));
    return [...nodeWrites, ...poolWrites].filter(({ object }) => writers.includes(object));
  }

  onChange(listener: (change: Change) => void): void {
    for (const cluster of this.#clusters.values()) cluster.watch(listener);
  }

  /**
   * Answers a GET or a list as of now.
   * @throws ApiError
   */
  async answer(request: ApiRequest): Promise<unknown> {
    const cluster = this.#clusters.get(parseResource(request)) ?? new InMemoryCluster();
    return await new InProcessApi(cluster).json(request);
  }

  #findReferrers(): readonly ReferrerName[] {
    const nodes = [...this.#nodesAndBuild].filter(([, config]) => config === 'A');
    const pools = [...this.#pools].filter(([, { spec, status }]) => spec === 'A' || status === 'A');
    return [...nodes, ...pools].map(([name]) => name);
  }

  #nodeOrBuildWrites(object: ReferrerName, config: Config | undefined): Write[] {
    const toWrite = (text: string, next: Config | undefined): Write => {
      const resource = object === 'build-1' ? BUILDS.name : NODES.name;
      return { name: `${object} ${text}`, resource, object, apply: () => this.#writeNodeOrBuild(object, next) };
    };
    if (object === 'build-1' && config === 'B') return [];
    if (object === 'build-1') return [config === 'A' ? toWrite('ends', 'B') : toWrite('starts with A', 'A')];
    if (config === undefined) return (['A', 'B'] as const).map((next) => toWrite(`registers with ${next}`, next));
    const move = toWrite(`moves from ${config} to ${otherThan(config)}`, otherThan(config));
    // The guard allows nothing without a node, so one stays.
    return object === 'node-1' ? [move] : [move, toWrite(`leaves with ${config}`, undefined)];
  }

  #poolWrites(object: ReferrerName, pool: Pool): Write[] {
    const { spec, status, isUpdated, changedAt } = pool;
    const toWrite = (text: string, fields: Partial<Pool>, ...changed: (keyof typeof changedAt)[]): Write => {
      const apply = (): void => {
        const times = Object.fromEntries(changed.map((part) => [part, new Date()]));
        this.#writePool(object, { ...pool, ...fields, changedAt: { ...changedAt, ...times } });
      };
      return { name: `pool ${object} ${text}`, resource: POOLS.name, object, apply };
    };
    const next = otherThan(spec);
    if (!this.#hasHold) return [toWrite(`moves from ${spec} to ${next}`, { spec: next, status: next })];
    const others = CONFIGS.filter((config) => config !== spec);
    const changes = others.map((config) => toWrite(`changes its spec to ${config}`, { spec: config }, 'spec'));
    // A machine turns not ready and ready again.
    const flip = toWrite(`turns ${isUpdated ? 'not ' : ''}Updated`, { isUpdated: !isUpdated }, 'status', 'updated');
    if (spec === status) return this.#hasFlips ? [...changes, flip] : changes;
    const complete = { status: spec, isUpdated: true };
    // The operator may look at the machines later: then the status moves without a transition of the condition.
    return isUpdated
      ? [...changes, flip, toWrite(`changes its status to ${spec}`, complete, 'status')]
      : [...changes, toWrite(`changes its status to ${spec}, and turns Updated`, complete, 'status', 'updated')];
  }

  #writeNodeOrBuild(name: ReferrerName, config: Config | undefined): void {
    this.#nodesAndBuild.set(name, config);
    if (name === 'build-1') {
      const conditions = config === 'B' ? [{ type: 'Succeeded', status: 'True' }] : [];
      this.#put(BUILDS.name, name, {}, { spec: { machineConfig: { name: CONFIG_A.name } }, status: { conditions } });
    } else if (config === undefined) {
      this.#clusters.get(NODES.name)?.erase(NODES.name, name);
    } else {
      // It always has a weak reference to A.
      const desiredConfig = nameConfig(config);
      const currentConfig = name === 'node-2' ? nameConfig('B') : desiredConfig;
      const fields = { currentConfig, desiredConfig, firstPivotConfig: CONFIG_A.name };
      this.#put(NODES.name, name, { annotations: operatorAnnotations(fields) });
    }
  }

  #writePool(name: ReferrerName, pool: Pool): void {
    if (name === 'worker') this.#poolNamedA = this.poolNamedA;
    this.#pools.set(name, pool);
    const { isUpdated, changedAt } = pool;
    const toConfiguration = (part: 'spec' | 'status') => ({ configuration: { name: nameConfig(pool[part]) } });
    const toManagedFields = (part: 'spec' | 'status') => {
      return { time: toSeconds(changedAt[part]), fieldsV1: { [`f:${part}`]: { 'f:configuration': {} } } };
    };
    const managedFields = [toManagedFields('spec'), { ...toManagedFields('status'), subresource: 'status' }];
    const condition = { type: 'Updated', status: isUpdated ? 'True' : 'False' };
    const conditions = [{ ...condition, lastTransitionTime: toSeconds(changedAt.updated) }];
    const status = { ...toConfiguration('status'), conditions };
    this.#put(POOLS.name, name, { managedFields }, { spec: toConfiguration('spec'), status });
  }

  #put(resource: string, name: string, metadata: object, fields = {}): void {
    const cluster = this.#clusters.get(resource);
    if (cluster?.get(resource, name) !== undefined) {
      cluster.patch(resource, name, { metadata, ...fields });
      return;
    }
    const identity = { name, uid: name, creationTimestamp: toSeconds(LONG_AGO) };
    cluster?.create(resource, { metadata: { ...identity, ...metadata }, ...fields });
  }
}

export function parseResource({ path }: ApiRequest): string {
  return parseResourcePath(new URL(path, 'https://cluster').pathname)?.kind.resource ?? path;
}

function nameConfig(config: Config): ConfigName {
  return toConfigName(`rendered-worker-${config.toLowerCase().repeat(32)}`);
}

function otherThan(config: Config): Config {
  return config === 'A' ? 'B' : 'A';
}
