import { findReferencedConfig, hasStrongReference, parsePoolName } from '../../decision/references.ts';
import { FileError, formatPath } from '../../files/file-error.ts';
import type { KubeApi } from '../../kube/api.ts';
import { chooseCopies } from '../../rendered-config/config-hash.ts';
import {
  readBootstrapSources,
  readRenderedConfigs,
  type RenderedConfig,
} from '../../rendered-config/rendered-config.ts';
import { readDifferences } from '../../client/config-differences.ts';
import { readClusterSnapshot } from '../../client/cluster-reader.ts';
import { advise } from '../../client/output/advice.ts';
import { canHaveBootstrapHost, type ClusterSnapshot, type InspectedPool } from '../../diagnosis/cluster-snapshot.ts';
import { readWithRetries } from '../../client/poll.ts';

/** The JSON of `check --bootstrap-dir DIR --output json`. Its keys are a contract. */
export type BootstrapReport = Awaited<ReturnType<typeof checkBootstrap>>['report'];
export type BootstrapConfig = BootstrapReport['configs'][number];

const RESTORE_TEXT = 'create it again; without --confirm this writes nothing';
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
 * @returns also whether the cluster is young enough to have a bootstrap host
 * @throws ClusterAccessError, TimeoutError
 */
export async function checkBootstrap(api: KubeApi, host: BootstrapDirectory) {
  const snapshot = await readWithRetries((signal) => readClusterSnapshot(api, undefined, signal));
  const configs: Awaited<ReturnType<typeof checkConfig>>[] = [];
  for (const config of host.configs) configs.push(await checkConfig(api, config, host, snapshot));
  const now = new Date();
  const report = {
    server: api.address,
    checkedAt: now.toISOString(),
    directory: host.directory,
    ok: configs.every(({ ok }) => ok),
    configs,
  };
  return { report, isInstalling: canHaveBootstrapHost(snapshot, now) };
}

async function checkConfig(api: KubeApi, config: RenderedConfig, host: BootstrapDirectory, snapshot: ClusterSnapshot) {
  const { name, source: file, spec } = config;
  const poolName = parsePoolName(name) ?? null;
  const pool = snapshot.pools.find(({ referrer }) => referrer.name === poolName);
  const usedBy = [...snapshot.nodes, ...snapshot.pools]
    .filter(({ referrer }) => hasStrongReference(name, referrer))
    .map(({ referrer }) => ({ kind: referrer.kind, name: referrer.name }));
  // Whether a node or a pool names it, or machines of the control plane boot with it.
  const needed = usedBy.length > 0 || CONTROL_PLANE_POOLS.has(poolName);
  const isTerminating = snapshot.terminatingConfigs.has(name);
  const isMissing = !isTerminating && !snapshot.configs.has(name);
  // The config that the operator rendered for the pool.
  const poolConfig = pool && findReferencedConfig(pool.referrer, 'spec');
  const otherName = (isMissing ? poolConfig : name) ?? null;
  const sources = pool?.sources ?? [];
  const found = otherName === null ? undefined : await readDifferences(api, spec, otherName, sources);
  const differences = found ?? [];
  const existing = isTerminating ? 'terminating' : differences.length > 0 ? 'different' : 'exists';
  const state: 'exists' | 'missing' | 'different' | 'terminating' = isMissing ? 'missing' : existing;
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
    comparedWith: found === undefined ? null : otherName,
    differences: differences.flatMap(({ copy: bootstrap, ...difference }) => [{ bootstrap, ...difference }]),
    sources: isMissing ? compareSources(host, snapshot, pool) : { onlyBootstrap: [], onlyCluster: [] },
    // A config that the operator can render, or that no node names, must not be restored now.
    restore:
      isMissing && !recoverable && usedBy.length > 0
        ? advise(RESTORE_TEXT, ['machineconfig-guard', 'restore', name], ['--from', host.directory])
        : null,
  };
}

/** The bootstrap host does not know which source belongs to which pool. */
function compareSources(
  { sources }: BootstrapDirectory,
  { pools }: ClusterSnapshot,
  pool: InspectedPool | undefined,
): Record<'onlyBootstrap' | 'onlyCluster', readonly string[]> {
  const inCluster = new Set(pools.flatMap((each) => each.sources));
  if (sources === undefined || inCluster.size === 0) return { onlyBootstrap: [], onlyCluster: [] };
  return {
    onlyBootstrap: [...sources].filter((source) => !inCluster.has(source)).toSorted(),
    onlyCluster: (pool?.sources ?? []).filter((source) => !sources.has(source)),
  };
}
