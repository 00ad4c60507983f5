import { type ConfigName, findReferencedConfig, hasStrongReference, parsePoolName } from '../../decision/references.ts';
import { FileError, formatPath } from '../../files/file-error.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { chooseCopies } from '../../rendered-config/config-hash.ts';
import {
  type ConfigPart,
  diffSpecs,
  listParts,
  type PartDifference,
  summarizePart,
} from '../../rendered-config/config-parts.ts';
import {
  readBootstrapSources,
  readRenderedConfigs,
  type RenderedConfig,
} from '../../rendered-config/rendered-config.ts';
import { readObject } from '../../client/cluster-access.ts';
import { readClusterSnapshot } from '../../client/cluster-reader.ts';
import { type ClusterSnapshot, type InspectedPool } from '../../client/cluster-snapshot.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { readWithRetries } from '../../client/poll.ts';

/** The JSON of `check --bootstrap-dir DIR --output json`. Its keys are a contract. */
export interface BootstrapReport {
  readonly server: string;
  readonly checkedAt: string;
  readonly directory: string;
  /** Whether all configs are. */
  readonly ok: boolean;
  readonly configs: readonly BootstrapConfig[];
}

export interface BootstrapConfig {
  readonly name: ConfigName;
  /** Whether the API has it with the same content, or it is not needed. */
  readonly ok: boolean;
  readonly file: string;
  readonly pool: string | null;
  /** In the API. */
  readonly state: 'exists' | 'missing' | 'different' | 'terminating';
  /** Whether a node or a pool names it, or machines of the control plane boot with it. */
  readonly needed: boolean;
  /** Whether the operator can still render it. */
  readonly recoverable: boolean;
  readonly usedBy: readonly { readonly kind: string; readonly name: string }[];
  /** The config with which it is compared: of its pool, or of the same name. Null if it is not compared. */
  readonly comparedWith: ConfigName | null;
  readonly differences: readonly BootstrapDifference[];
  /** Source MachineConfigs that only one side has. */
  readonly sources: { readonly onlyBootstrap: readonly string[]; readonly onlyCluster: readonly string[] };
  /** Null if the config must not or cannot be restored now. */
  readonly restore: Advice | null;
}

interface BootstrapDifference extends Pick<PartDifference, 'kind' | 'name'> {
  /** A value or a digest. Null if the side does not have the part. */
  readonly bootstrap: string | null;
  readonly cluster: string | null;
  /** The source MachineConfigs in the cluster that set the part. */
  readonly setBy: readonly string[];
}

/** Their machines boot from the bootstrap host (OpenShift, "Preparing to install with the Agent-based Installer"). */
const CONTROL_PLANE_POOLS: ReadonlySet<string | null> = new Set(['master', 'arbiter']);

type BootstrapDirectory = Awaited<ReturnType<typeof readBootstrapDirectory>>;

/** @throws FileError if the directory is unusable; the signal's reason */
export async function readBootstrapDirectory(directory: string, signal: AbortSignal) {
  const { configs, problems } = await readRenderedConfigs(directory, () => true, signal);
  if (problems[0] !== undefined) throw new FileError(problems[0]);
  const advice = 'on the bootstrap host it is /etc/mcs/bootstrap';
  if (configs.length === 0) throw new FileError(`${formatPath(directory)} contains no rendered config; ${advice}`);
  return { directory, configs: chooseCopies(configs), sources: await readBootstrapSources(directory, signal) };
}

/**
 * Compares the configs that the bootstrap host rendered with those in the API.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function checkBootstrap(api: KubeApi, host: BootstrapDirectory): Promise<BootstrapReport> {
  const snapshot = await readWithRetries((signal) => readClusterSnapshot(api, undefined, signal));
  const configs: BootstrapConfig[] = [];
  for (const config of host.configs) configs.push(await checkConfig(api, config, host, snapshot));
  return {
    server: api.address,
    checkedAt: new Date().toISOString(),
    directory: host.directory,
    ok: configs.every(({ ok }) => ok),
    configs,
  };
}

async function checkConfig(
  api: KubeApi,
  config: RenderedConfig,
  host: BootstrapDirectory,
  snapshot: ClusterSnapshot,
): Promise<BootstrapConfig> {
  const { name, source: file, spec } = config;
  const poolName = parsePoolName(name) ?? null;
  const pool = snapshot.pools.find(({ referrer }) => referrer.name === poolName);
  const usedBy = [...snapshot.nodes, ...snapshot.pools]
    .filter(({ referrer }) => hasStrongReference(name, referrer))
    .map(({ referrer }) => ({ kind: referrer.kind, name: referrer.name }));
  const needed = usedBy.length > 0 || CONTROL_PLANE_POOLS.has(poolName);
  const isTerminating = snapshot.terminatingConfigs.has(name);
  const isMissing = !isTerminating && !snapshot.configs.has(name);
  // The config that the operator rendered for the pool.
  const poolConfig = pool && findReferencedConfig(pool.referrer, 'spec');
  const otherName = (isMissing ? poolConfig : name) ?? null;
  const other = otherName === null ? undefined : await readConfig(api, otherName);
  const differences = other === undefined ? [] : diffSpecs(spec, other);
  const existing = isTerminating ? 'terminating' : differences.length > 0 ? 'different' : 'exists';
  const state = isMissing ? 'missing' : existing;
  // The operator renders the config in the spec of a pool, and the first config of a new pool.
  const recoverable = isMissing && (poolConfig === undefined || poolConfig === name);
  return {
    name,
    ok: state === 'exists' || !needed,
    file,
    pool: poolName,
    state,
    needed,
    recoverable,
    usedBy,
    comparedWith: other === undefined ? null : otherName,
    differences: await describeDifferences(api, differences, pool),
    sources: isMissing ? compareSources(host, snapshot, pool) : { onlyBootstrap: [], onlyCluster: [] },
    restore: isMissing && !recoverable && usedBy.length > 0 ? adviseRestore(name, host) : null,
  };
}

function adviseRestore(config: ConfigName, { directory }: BootstrapDirectory): Advice {
  const text = 'create it again; without --confirm this writes nothing';
  return advise(text, ['machineconfig-guard', 'restore', config], ['--from', directory]);
}

async function describeDifferences(
  api: KubeApi,
  differences: readonly PartDifference[],
  pool: InspectedPool | undefined,
): Promise<BootstrapDifference[]> {
  const sources: { readonly name: string; readonly parts: readonly ConfigPart[] }[] = [];
  for (const source of differences.length === 0 ? [] : (pool?.sources ?? [])) {
    sources.push({ name: source, parts: listParts((await readConfig(api, source)) ?? {}) });
  }
  return differences.map(({ kind, name, first, second }) => {
    const setBy = sources.filter(({ parts }) => parts.some((part) => part.kind === kind && part.name === name));
    return {
      kind,
      name,
      bootstrap: first === undefined ? null : summarizePart(first),
      cluster: second === undefined ? null : summarizePart(second),
      setBy: setBy.map((source) => source.name),
    };
  });
}

/** The bootstrap host does not know which source belongs to which pool. */
function compareSources(
  { sources }: BootstrapDirectory,
  { pools }: ClusterSnapshot,
  pool: InspectedPool | undefined,
): BootstrapConfig['sources'] {
  const inCluster = new Set(pools.flatMap((each) => each.sources));
  if (sources === undefined || inCluster.size === 0) return { onlyBootstrap: [], onlyCluster: [] };
  return {
    onlyBootstrap: [...sources].filter((source) => !inCluster.has(source)).toSorted(),
    onlyCluster: (pool?.sources ?? []).filter((source) => !sources.has(source)),
  };
}

/** The spec of a MachineConfig. Undefined if it does not exist. */
async function readConfig(api: KubeApi, name: string): Promise<RenderedConfig['spec'] | undefined> {
  const path = objectPath(MACHINE_CONFIGS_PATH, name);
  const object = await readWithRetries((signal) => readObject(api, path, 'get', signal));
  return object === undefined ? undefined : (((object as ApiObject).spec ?? {}) as RenderedConfig['spec']);
}
