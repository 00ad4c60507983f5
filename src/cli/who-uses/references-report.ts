import { groupBy } from '../../common/group-by.ts';
import { findUsedConfigs, isUnreportedNode, type ReferrerKind } from '../../mco/referrer.ts';
import { diagnose } from '../../diagnosis/diagnose.ts';
import { createNearestFinder } from '../../diagnosis/nearest-name.ts';
import type { KubeApi } from '../../kube/api.ts';
import { readConfigs, readReferrers } from '../../client/cluster-reader.ts';
import { readHolds } from '../../client/guard-report.ts';
import { readWithRetries } from '../../client/poll.ts';
import { resolveConfigName } from '../../client/option-parsers.ts';
import { type ConfigName, isRenderedConfig, parsePoolName } from '../../mco/machine-config.ts';
import { summarizeReferences } from '../../references/config-referrers.ts';

/** The JSON of `who-uses --output json`. Its keys are a contract. Unknown values are null. */
export interface ReferencesReport {
  /** Host and port of the API server. */
  readonly server: string;
  /** RFC 3339. */
  readonly readAt: string;
  /** How many nodes have not reported a config. */
  readonly unreportedNodes: number;
  /** Whether all listed configs are in use. The exit code of named ones depends on it. */
  readonly allUsed: boolean;
  readonly configs: readonly ConfigReport[];
}

/** A config, and what names it. */
export interface ConfigReport {
  readonly name: ConfigName;
  readonly exists: boolean;
  /** Whether the name is that of a rendered config. */
  readonly rendered: boolean;
  /** The pool in the name of a rendered config. */
  readonly pool: string | null;
  /** Of a source config: the pools that merge it. */
  readonly mergedBy: readonly string[];
  /** RFC 3339. */
  readonly createdAt: string | null;
  /** Whether a reference keeps it. */
  readonly used: boolean;
  /** Whether its allow-deletion annotation has a reason. */
  readonly overridden: boolean;
  /** Until when the guard denies the deletion although nothing uses it, as its status says. RFC 3339. */
  readonly heldUntil: string | null;
  readonly usedBy: readonly ReferenceEntry[];
  /** The existing config with the nearest name to a missing one. */
  readonly suggestion: ConfigName | null;
  /** Of a missing config: why waiting can help, or why it cannot. */
  readonly recoverableReason: string | null;
}

/** One reference to a config. */
export interface ReferenceEntry {
  readonly kind: ReferrerKind;
  readonly name: string;
  /** Such as `currentConfig` or `spec`. */
  readonly field: string;
  /** Whether it prevents a deletion. */
  readonly keepsConfig: boolean;
}

/** `listed` selects all rendered configs, and the missing configs that are in use. */
export type Selection = 'listed' | 'unused' | readonly ConfigName[];

type ClusterReferences = Awaited<ReturnType<typeof readReferences>>;

/** @throws CliError if a name is ambiguous, ClusterAccessError, TimeoutError */
export async function readReferencesReport(api: KubeApi, selection: Selection): Promise<ReferencesReport> {
  const references = await readWithRetries((signal) => readReferences(api, signal));
  const { configs, referrers, pools, at, holds, problems } = references;
  // There can be 50,000 nodes, or thousands of pools with a config each.
  const namings = referrers.flatMap((referrer) =>
    [...new Set(referrer.references.map((reference) => reference.config))].map((config) => ({ config, referrer })),
  );
  const namingsByConfig = groupBy(namings, ({ config }) => config);
  const names = selectNames(selection, references);
  const findNearest = createNearestFinder(configs.keys());
  const reasons = new Map(problems.map((problem) => [problem.config, problem.recoverableReason]));
  const reports = names.map((name): ConfigReport => {
    const own = (namingsByConfig.get(name) ?? []).map(({ referrer }) => referrer);
    const { strong, weak } = summarizeReferences(name, own);
    const usedBy = [...strong.references, ...weak.references].map(({ kind, name: referrer, field, strength }) => {
      return { kind, name: referrer, field, keepsConfig: strength === 'strong' };
    });
    const config = configs.get(name);
    const until = holds.get(name);
    // The annotation allows the deletion before the hold ends.
    const isHeld = until !== undefined && until > at && config?.isOverridden === false && strong.total === 0;
    return {
      name,
      exists: config !== undefined,
      rendered: isRenderedConfig(name),
      pool: parsePoolName(name) ?? null,
      mergedBy: pools.filter(({ sources }) => sources.includes(name)).map((pool) => pool.name),
      createdAt: config?.createdAt.toISOString() ?? null,
      used: strong.total > 0,
      overridden: config?.isOverridden === true && isRenderedConfig(name),
      heldUntil: isHeld ? until.toISOString() : null,
      usedBy,
      suggestion: config === undefined ? (findNearest(name) ?? null) : null,
      recoverableReason: reasons.get(name) ?? null,
    };
  });
  return {
    server: api.address,
    readAt: at.toISOString(),
    unreportedNodes: referrers.filter(isUnreportedNode).length,
    allUsed: reports.every(({ used }) => used),
    configs: typeof selection === 'string' ? reports.filter(({ exists, used }) => exists || used) : reports,
  };
}

/**
 * Lists the configs before the referrers, to see every reference to a config that counts as unused, and after them,
 * because a config that was missing then did not exist when its references were read.
 */
async function readReferences(api: KubeApi, signal: AbortSignal) {
  const before = new Set((await readConfigs(api, signal)).map(({ name }) => name));
  const { referrers, nodes, pools, at } = await readReferrers(api, signal);
  const configs = new Map((await readConfigs(api, signal)).map((config) => [config.name, config]));
  const holds = await readHolds(api, signal);
  const used = findUsedConfigs(referrers);
  const unused = [...configs.values()]
    .filter(({ name }) => before.has(name) && isRenderedConfig(name) && !used.has(name))
    .toSorted((a, b) => compare(a.createdAt, b.createdAt) || compare(a.name, b.name));
  // A config that is being deleted exists, as far as references are concerned.
  const snapshot = { nodes, pools, configs: new Set(configs.keys()), terminatingConfigs: new Set<ConfigName>() };
  const { problems } = diagnose(snapshot, { now: at });
  return { configs, referrers, pools, at, holds, used, unused, problems };
}

function selectNames(selection: Selection, references: ClusterReferences): readonly ConfigName[] {
  const { configs, referrers, unused } = references;
  if (selection === 'unused') return unused.map(({ name }) => name);
  if (selection === 'listed') return listNames(references);
  const referenced = referrers.flatMap(({ references }) => references.map(({ config }) => config));
  const known = [...configs.keys(), ...referenced];
  return [...new Set(selection.map((name) => resolveConfigName(name, known)))];
}

/** Missing configs come first. The others are sorted by pool, the newest config first. */
function listNames({ configs, used, unused }: ClusterReferences): readonly ConfigName[] {
  const names = new Set([...used, ...unused.map(({ name }) => name)]);
  const listed = [...names].filter((name) => !configs.has(name) || isRenderedConfig(name));
  const compareNames = (a: ConfigName, b: ConfigName): number =>
    Number(configs.has(a)) - Number(configs.has(b)) ||
    compare(parsePoolName(a), parsePoolName(b)) ||
    compare(configs.get(b)?.createdAt, configs.get(a)?.createdAt);
  return listed.toSorted(compareNames);
}

function compare(a: string | Date = '', b: string | Date = ''): number {
  return a < b ? -1 : Number(a > b);
}
