import { hasStrongReference } from '../../mco/referrer.ts';
import { FileError, formatPath } from '../../files/file-error.ts';
import type { KubeApi } from '../../kube/api.ts';
import { chooseCopies } from '../../rendered-config/config-hash.ts';
import {
  formatOrigins,
  readBootstrapSources,
  readRenderedConfigs,
  type RenderedConfig,
} from '../../rendered-config/rendered-config.ts';
import { type ConfigDifference, formatDifferences, readDifferences } from '../../client/config-differences.ts';
import { readClusterSnapshot } from '../../client/cluster-reader.ts';
import { countNoun } from '../../common/printable-text.ts';
import { shell, verbatim } from '../../diagnosis/shell-command.ts';
import { advise, type Advice } from '../../client/output/advice.ts';
import { formatObjectNames } from '../../client/output/short-forms.ts';
import { formatTable, NONE } from '../../client/output/table.ts';
import { applyStyle, formatCommand, type ReportFormat, wrapParagraph } from '../../client/output/text-format.ts';
import {
  canHaveBootstrapHost,
  type ClusterSnapshot,
  type InspectedPool,
  isPoolOfControlPlane,
} from '../../diagnosis/cluster-snapshot.ts';
import { readWithRetries } from '../../client/poll.ts';
import { parsePoolName } from '../../mco/machine-config.ts';

/** The JSON of `check bootstrap DIR --output json`. Its keys are a contract. */
export interface BootstrapReport {
  /** The address of the API server. */
  readonly server: string;
  readonly checkedAt: string;
  readonly directory: string;
  /** Whether the exit code is 0. */
  readonly ok: boolean;
  readonly configs: readonly BootstrapConfig[];
}

/** A rendered config of the bootstrap host, and what the API knows about it. */
interface BootstrapConfig {
  readonly name: string;
  readonly ok: boolean;
  readonly file: string;
  readonly pool: string | null;
  readonly state: 'exists' | 'missing' | 'different' | 'terminating';
  /** Whether a node or a pool names it, or machines of the control plane boot with it. */
  readonly needed: boolean;
  /** Whether the operator can still render it. */
  readonly recoverable: boolean;
  readonly usedBy: readonly { readonly kind: string; readonly name: string }[];
  /** The config in the API whose differences are listed. */
  readonly comparedWith: string | null;
  readonly differences: readonly ConfigDifference[];
  /** Source configs that only one side has. */
  readonly sources: { readonly onlyBootstrap: readonly string[]; readonly onlyCluster: readonly string[] };
  readonly restore: Advice | null;
}

/** What a bootstrap host has rendered. */
interface BootstrapDirectory {
  readonly directory: string;
  readonly configs: readonly RenderedConfig[];
  /** The names of the source configs. Undefined if the directory does not tell. */
  readonly sources: ReadonlySet<string> | undefined;
}

/** @throws FileError if it is unreadable or contains no rendered config; the signal's reason */
export async function readBootstrapDirectory(directory: string, signal: AbortSignal): Promise<BootstrapDirectory> {
  const { configs, problems } = await readRenderedConfigs(directory, () => true, signal);
  if (problems[0] !== undefined) throw new FileError(problems[0]);
  const advice = 'on the bootstrap host it is /etc/mcs/bootstrap';
  if (configs.length === 0) throw new FileError(`${formatPath(directory)} contains no rendered config; ${advice}`);
  return { directory, configs: chooseCopies(configs), sources: await readBootstrapSources(directory, signal) };
}

/** Compares what the bootstrap host has rendered with the API. */
export async function checkBootstrap(
  api: KubeApi,
  host: BootstrapDirectory,
): Promise<{ report: BootstrapReport; isInstalling: boolean }> {
  const snapshot = await readWithRetries((signal) => readClusterSnapshot(api, undefined, signal));
  const configs: BootstrapConfig[] = [];
  for (const config of host.configs) configs.push(await checkConfig(api, config, host, snapshot));
  const now = api.now();
  const { directory } = host;
  const ok = configs.every((config) => config.ok);
  const report = { server: api.address, checkedAt: now.toISOString(), directory, ok, configs };
  return { report, isInstalling: canHaveBootstrapHost(snapshot, now) };
}

async function checkConfig(
  api: KubeApi,
  config: RenderedConfig,
  host: BootstrapDirectory,
  snapshot: ClusterSnapshot,
): Promise<BootstrapConfig> {
  const { name, spec } = config;
  const poolName = parsePoolName(name) ?? null;
  const pool = snapshot.pools.find((each) => each.name === poolName);
  const usedBy = [...snapshot.nodes, ...snapshot.pools]
    .filter((each) => hasStrongReference(name, each))
    .map((each) => ({ kind: each.kind, name: each.name }));
  // Machines of the control plane boot from the bootstrap host (OpenShift, "Preparing to install with the Agent-based
  // Installer").
  const needed = usedBy.length > 0 || isPoolOfControlPlane(poolName);
  const isTerminating = snapshot.terminatingConfigs.has(name);
  const poolConfig = pool?.specConfig;
  const compare = async (other: string | undefined) =>
    other === undefined ? undefined : await readDifferences(api, spec, other, pool?.sources ?? []);
  const isListed = isTerminating || snapshot.configs.has(name);
  const own = isListed ? await compare(name) : undefined;
  // It can be deleted between the list and the comparison.
  const isMissing = own === undefined;
  const found = own ?? (await compare(poolConfig));
  const differences = found ?? [];
  const findState = () => {
    if (isMissing) return 'missing';
    if (isTerminating) return 'terminating';
    return differences.length > 0 ? 'different' : 'exists';
  };
  const state = findState();
  // The operator renders the config in the spec of a pool, and the first config of a new pool.
  const recoverable = isMissing && (poolConfig === undefined || poolConfig === name);
  return {
    name,
    ok: state === 'exists' || !needed,
    file: formatOrigins(config),
    pool: poolName,
    state,
    needed,
    recoverable,
    usedBy,
    comparedWith: found === undefined ? null : ((isMissing ? poolConfig : name) ?? null),
    differences,
    sources: isMissing ? compareSources(host, snapshot, pool) : { onlyBootstrap: [], onlyCluster: [] },
    // A config that the operator can render, or that no node names, must not be restored now.
    restore:
      isMissing && !recoverable && usedBy.length > 0
        ? advise(
            'create it again; without --confirm this writes nothing',
            shell`machineconfig-guard restore ${name} --from ${verbatim(host.directory)}`,
          )
        : null,
  };
}

function compareSources({ sources }: BootstrapDirectory, { pools }: ClusterSnapshot, pool?: InspectedPool) {
  const inCluster = new Set(pools.flatMap((each) => each.sources));
  if (sources === undefined || inCluster.size === 0) return { onlyBootstrap: [], onlyCluster: [] };
  return {
    onlyBootstrap: [...sources].filter((source) => !inCluster.has(source)).toSorted(),
    onlyCluster: (pool?.sources ?? []).filter((source) => !sources.has(source)),
  };
}

const STATES = { exists: 'exists', missing: 'missing', different: 'other content', terminating: 'being deleted' };

export function formatBootstrapReport(format: ReportFormat, report: BootstrapReport, isInstalling: boolean): string {
  const { ok, configs } = report;
  const rows = configs.map(({ name, usedBy, state, ...config }) => {
    const style = config.ok ? undefined : ('red' as const);
    return [name, formatObjectNames(usedBy) || NONE, { text: STATES[state], style }];
  });
  const parts = [
    formatTable(format, ['CONFIG', 'NAMED BY', 'API'], rows),
    ...configs.filter(({ state }) => state !== 'exists').flatMap((config) => formatConfig(format, config)),
    applyStyle(format, ok ? 'bold' : ['red', 'bold'], wrapParagraph(format, formatConclusion(report, isInstalling))),
  ];
  return `${parts.map((part) => part.trimEnd()).join('\n\n')}\n`;
}

function formatConfig(format: ReportFormat, config: BootstrapConfig): string[] {
  const { comparedWith, differences, restore } = config;
  const table = formatDifferences(format, differences, 'BOOTSTRAP HOST');
  const title = table === '' ? '' : `\n${wrapParagraph(format, `Differences from ${comparedWith} in the API:`)}`;
  const parts = [wrapParagraph(format, explainConfig(config)) + title, table];
  return [...parts, restore === null ? '' : formatCommand(format, restore).join('\n')].filter(Boolean);
}

function explainConfig(config: BootstrapConfig): string {
  const { onlyBootstrap, onlyCluster } = config.sources;
  const sources = Object.entries({ 'on the bootstrap host': onlyBootstrap, 'in the cluster': onlyCluster });
  const sentences = sources.flatMap(([place, names]) =>
    names.length === 0 ? [] : [`Source configs only ${place}: ${names.join(', ')}.`],
  );
  return [explainState(config), ...sentences].join(' ');
}

function explainState({ name, pool, state, needed, recoverable, usedBy }: BootstrapConfig): string {
  if (state === 'terminating') return `${name} is being deleted. Keep its finalizers.`;
  if (state === 'different') {
    return `${name} has other content in the API. A node that boots with it reports "unexpected on-disk state".`;
  }
  if (recoverable) return `${name} does not exist. The operator can still render it for pool ${pool}.`;
  const missing = `${name} does not exist. The cluster rendered another config for pool ${pool}.`;
  if (usedBy.length > 0) return missing;
  return `${missing} ${needed ? 'Restore it as soon as a node names it.' : 'No node or pool names it.'}`;
}

function formatConclusion({ ok, directory, configs }: BootstrapReport, isInstalling: boolean): string {
  if (ok) return `Fine: every needed rendered config in ${directory} exists in the API.`;
  const bad = configs.filter((config) => !config.ok);
  const count = countNoun(configs.length, 'rendered config');
  const problem = `Not fine: problems with ${bad.length} of ${count} in ${directory}.`;
  if (bad.every(({ recoverable }) => recoverable)) {
    return `${problem} Run this command again when the operator has rendered the configs of all pools.`;
  }
  return isInstalling ? `${problem} Do not reboot the bootstrap host before this is repaired.` : problem;
}
