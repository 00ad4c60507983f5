import { type ConfigName, parsePoolName, toConfigName } from '../../decision/config-name.ts';
import { hasStrongReference } from '../../decision/references.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { hasMatchingName } from '../../rendered-config/config-hash.ts';
import {
  type ConfigPart,
  diffSpecs,
  listParts,
  type PartDifference,
  summarizePart,
} from '../../rendered-config/config-parts.ts';
import type { RenderedConfig } from '../../rendered-config/rendered-config.ts';
import { readObject } from '../../client/cluster-access.ts';
import { readClusterSnapshot } from '../../client/cluster-reader.ts';
import { type ClusterSnapshot, findReferencedConfig } from '../../client/cluster-snapshot.ts';
import { readWithRetries } from '../../client/poll.ts';
import { type Advice, advise } from '../../client/output/advice.ts';

export interface BootstrapOptions {
  readonly directory: string;
  /** The rendered configs of the directory. */
  readonly configs: readonly RenderedConfig[];
  /** The source MachineConfigs of the bootstrap host. Undefined if unknown. */
  readonly sources: ReadonlySet<string> | undefined;
}

/** The JSON of `check --bootstrap-dir DIR --output json`. Its keys are a contract. */
export interface BootstrapReport {
  readonly server: string;
  readonly checkedAt: string;
  readonly directory: string;
  /** Whether the API has every needed config, with the same content. */
  readonly ok: boolean;
  readonly configs: readonly BootstrapConfig[];
}

export interface BootstrapConfig {
  readonly name: ConfigName;
  readonly file: string;
  readonly pool: string | null;
  /** In the API. */
  readonly state: 'exists' | 'missing' | 'different' | 'terminating';
  /** Whether a node or a pool names it, or machines of the control plane boot with it. */
  readonly needed: boolean;
  /** Whether the operator can still render it. */
  readonly recoverable: boolean;
  /** Null if the hash proves nothing: for unusual content, or if the one in the API differs too (recert). */
  readonly contentMatchesName: boolean | null;
  readonly usedBy: readonly { readonly kind: string; readonly name: string }[];
  /** The config with which it is compared: of its pool, or of the same name. Null if it is not compared. */
  readonly comparedWith: ConfigName | null;
  readonly differences: readonly BootstrapDifference[];
  /** Source MachineConfigs that only one side has. */
  readonly sources: { readonly onlyBootstrap: readonly string[]; readonly onlyCluster: readonly string[] };
  /** Null if the config must not or cannot be restored now. */
  readonly restore: Advice | null;
}

export interface BootstrapDifference {
  readonly kind: string;
  readonly name: string;
  /** A value or a digest. Null if the side does not have the part. */
  readonly bootstrap: string | null;
  readonly cluster: string | null;
  /** The source MachineConfigs in the cluster that set the part. */
  readonly setBy: readonly string[];
}

/** Their machines boot from the bootstrap host (OpenShift, "Preparing to install with the Agent-based Installer"). */
const CONTROL_PLANE_POOLS: ReadonlySet<string | null> = new Set(['master', 'arbiter']);

/**
 * Compares the configs that the bootstrap host rendered with those in the API.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function checkBootstrapConfigs(api: KubeApi, options: BootstrapOptions): Promise<BootstrapReport> {
  const snapshot = await readWithRetries((signal) => readClusterSnapshot(api, undefined, signal));
  const comparison = new Comparison(api, options, snapshot);
  const configs: BootstrapConfig[] = [];
  for (const config of options.configs) configs.push(await comparison.checkConfig(config));
  return {
    server: api.address,
    checkedAt: new Date().toISOString(),
    directory: options.directory,
    ok: configs.every(({ state, needed }) => state === 'exists' || !needed),
    configs,
  };
}

class Comparison {
  readonly #api: KubeApi;
  readonly #options: BootstrapOptions;
  readonly #snapshot: ClusterSnapshot;

  constructor(api: KubeApi, options: BootstrapOptions, snapshot: ClusterSnapshot) {
    this.#api = api;
    this.#options = options;
    this.#snapshot = snapshot;
  }

  async checkConfig(config: RenderedConfig): Promise<BootstrapConfig> {
    const { name, source: file, spec } = config;
    const poolName = parsePoolName(name) ?? null;
    const pool = this.#snapshot.pools.find(({ referrer }) => referrer.name === poolName);
    const usedBy = this.#findReferrers(name);
    const object = await this.#readConfig(name);
    // The config that the operator rendered for the pool.
    const poolConfig = pool === undefined ? undefined : findReferencedConfig(pool.referrer, 'spec');
    const comparedWith = object === undefined ? poolConfig : name;
    const other = object ?? (poolConfig === undefined ? undefined : await this.#readConfig(poolConfig));
    const differences = other === undefined ? [] : diffSpecs(spec, readSpec(other));
    const isOtherRewritten =
      other !== undefined &&
      hasMatchingName({ name: toConfigName(String(other.metadata?.name)), spec: readSpec(other) }) === false;
    const contentMatchesName = hasMatchingName(config);
    const isMissing = object === undefined;
    const isTerminating = (object?.metadata?.deletionTimestamp ?? undefined) !== undefined;
    // The operator renders the config in the spec of a pool, and the first config of a new pool.
    const recoverable = isMissing && (poolConfig === undefined || poolConfig === name);
    const canRestore = isMissing && !recoverable && usedBy.length > 0;
    return {
      name,
      file,
      pool: poolName,
      state: isMissing ? 'missing' : isTerminating ? 'terminating' : differences.length > 0 ? 'different' : 'exists',
      needed: usedBy.length > 0 || CONTROL_PLANE_POOLS.has(poolName),
      recoverable,
      contentMatchesName: contentMatchesName === false && isOtherRewritten ? null : contentMatchesName,
      usedBy,
      comparedWith: other === undefined ? null : (comparedWith ?? null),
      differences: await this.#describeDifferences(differences, pool?.sources),
      sources: isMissing ? this.#compareSources(pool?.sources) : { onlyBootstrap: [], onlyCluster: [] },
      restore: canRestore
        ? advise(
            'create it again; without --confirm this writes nothing',
            ['machineconfig-guard', 'restore', name],
            ['--from', this.#options.directory],
          )
        : null,
    };
  }

  #findReferrers(config: ConfigName): BootstrapConfig['usedBy'] {
    const referrers = [...this.#snapshot.nodes, ...this.#snapshot.pools].map(({ referrer }) => referrer);
    return referrers
      .filter((referrer) => hasStrongReference(config, referrer))
      .map(({ kind, name }) => ({ kind, name }));
  }

  async #describeDifferences(differences: readonly PartDifference[], sources: readonly string[] = []) {
    const partsBySource = differences.length === 0 ? [] : await this.#readSourceParts(sources);
    return differences.map(({ kind, name, first, second }): BootstrapDifference => {
      const setBy = partsBySource.filter(({ parts }) => parts.some((part) => part.kind === kind && part.name === name));
      return {
        kind,
        name,
        bootstrap: first === undefined ? null : summarizePart(first),
        cluster: second === undefined ? null : summarizePart(second),
        setBy: setBy.map(({ source }) => source),
      };
    });
  }

  async #readSourceParts(sources: readonly string[]) {
    const parts: { source: string; parts: readonly ConfigPart[] }[] = [];
    for (const source of sources) {
      const object = await this.#readConfig(source);
      if (object !== undefined) parts.push({ source, parts: listParts(readSpec(object)) });
    }
    return parts;
  }

  /** The bootstrap host does not know which source belongs to which pool. */
  #compareSources(poolSources: readonly string[] = []): BootstrapConfig['sources'] {
    const { sources } = this.#options;
    const clusterSources = new Set(this.#snapshot.pools.flatMap((pool) => pool.sources));
    if (sources === undefined || clusterSources.size === 0) return { onlyBootstrap: [], onlyCluster: [] };
    return {
      onlyBootstrap: [...sources].filter((source) => !clusterSources.has(source)).toSorted(),
      onlyCluster: poolSources.filter((source) => !sources.has(source)),
    };
  }

  async #readConfig(name: string): Promise<ApiObject | undefined> {
    const path = objectPath(MACHINE_CONFIGS_PATH, name);
    const object = await readWithRetries((signal) => readObject(this.#api, path, 'get', signal));
    return object as ApiObject | undefined;
  }
}

function readSpec({ spec }: ApiObject): Readonly<Record<string, unknown>> {
  return (spec ?? {}) as Readonly<Record<string, unknown>>;
}
