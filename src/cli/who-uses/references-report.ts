import { mapConcurrently } from '../../common/map-concurrently.ts';
import { type ConfigName, isRenderedConfig, parsePoolName } from '../../decision/config-name.ts';
import { findNearestName } from '../../status/nearest-name.ts';
import type { KubeApi } from '../../kube/api.ts';
import { readConfigs, readConfigSize, readReferrers } from '../../client/cluster-reader.ts';
import { findHolds, findUnusedConfigs, readHoldMs } from '../../client/holds.ts';
import { readWithRetries } from '../../client/poll.ts';
import { type NamedReference, type Referrer, summarizeReferences } from '../../decision/references.ts';
import type { HeldConfig } from '../../decision/review.ts';
import type { WatchedConfig } from '../../references/sources.ts';
import { resolveConfigName } from '../../client/resolve-name.ts';

export interface ClusterReferences {
  readonly server: string;
  /** By the clock of the API server. */
  readonly at: Date;
  readonly configs: readonly (HeldConfig & Pick<WatchedConfig, 'createdAt'>)[];
  readonly referrers: readonly Referrer[];
}

type ReferenceField = Pick<NamedReference, 'kind' | 'name' | 'field'>;

export interface ReferenceEntry extends ReferenceField {
  readonly keepsConfig: boolean;
}

interface ConfigUse {
  readonly name: ConfigName;
  readonly exists: boolean;
  readonly pool: string | null;
  readonly used: boolean;
  readonly usedBy: readonly ReferenceEntry[];
}

export interface ConfigReport extends ConfigUse {
  readonly rendered: boolean;
  /** Of a missing config: the closest existing name. */
  readonly suggestion: ConfigName | null;
}

interface PointInTime {
  readonly server: string;
  readonly readAt: string;
  readonly unreportedNodes: number;
}

/** The JSON of `who-uses CONFIG... --output json`. Its keys are a contract. */
export interface ReferencesReport extends PointInTime {
  readonly allUsed: boolean;
  readonly configs: readonly ConfigReport[];
}

/** The JSON of `who-uses --output json` without names. Its keys are a contract. */
export interface ConfigListReport extends PointInTime {
  /** Null: the config is missing, or was deleted before its size was read. */
  readonly configs: readonly (ConfigUse & {
    readonly createdAt: string | null;
    readonly sizeBytes: number | null;
  })[];
}

/** The JSON of `who-uses --unused --output json`. Its keys are a contract. */
export interface UnusedReport extends PointInTime {
  readonly unused: readonly {
    readonly name: ConfigName;
    readonly pool: string | null;
    readonly createdAt: string;
    readonly heldUntil: string | null;
    readonly sizeBytes: number;
    readonly mentionedBy: readonly ReferenceField[];
  }[];
  readonly totalBytes: number;
}

/** Each read transfers a whole config. */
const MAX_CONCURRENT_SIZE_READS = 4;

/**
 * Lists the configs last: a missing config did not exist after its references were read.
 *
 * @throws AmbiguousName, ClusterAccessError, TimeoutError
 */
export async function readReferencesReport(api: KubeApi, names: readonly ConfigName[]): Promise<ReferencesReport> {
  const references = await readWithRetries(async (signal) => {
    const references = await readReferrers(api, signal);
    return { server: api.address, ...references, configs: await readConfigs(api, signal) };
  });
  return buildReferencesReport(references, names);
}

/** @throws ClusterAccessError, TimeoutError */
export async function readUnusedReport(api: KubeApi): Promise<{ report: UnusedReport; renderedCount: number }> {
  const references = await readConfigsAndReferrers(api);
  const holdMs = await readWithRetries((signal) => readHoldMs(api, signal));
  const unused = findUnusedConfigs(references);
  const holds = findHolds(unused, { ...references, holdMs });
  const sizes = await readSizes(api, unused);
  const rendered = references.configs.filter(({ name }) => isRenderedConfig(name));
  return { report: buildUnusedReport(references, unused, sizes, holds), renderedCount: rendered.length };
}

/**
 * Lists all rendered configs, and the missing configs that nodes, pools and builds need.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function readConfigListReport(api: KubeApi): Promise<ConfigListReport> {
  const references = await readConfigsAndReferrers(api);
  const sizes = await readSizes(
    api,
    references.configs.filter(({ name }) => isRenderedConfig(name)),
  );
  return buildConfigListReport(references, sizes);
}

/** Lists the configs first, to see every reference to them. */
async function readConfigsAndReferrers(api: KubeApi): Promise<ClusterReferences> {
  return await readWithRetries(async (signal) => {
    const configs = await readConfigs(api, signal);
    return { server: api.address, ...(await readReferrers(api, signal)), configs };
  });
}

/** The bytes of each config; undefined if it was deleted meanwhile. */
async function readSizes(
  api: KubeApi,
  configs: readonly { readonly name: ConfigName }[],
): Promise<ReadonlyMap<ConfigName, number | undefined>> {
  const sizes = await mapConcurrently(
    configs,
    MAX_CONCURRENT_SIZE_READS,
    async ({ name }) => [name, await readWithRetries((signal) => readConfigSize(api, name, signal))] as const,
  );
  return new Map(sizes);
}

function buildReferencesReport(
  { server, at, configs, referrers }: ClusterReferences,
  names: readonly ConfigName[],
): ReferencesReport {
  const existingNames = new Set(configs.map(({ name }) => name));
  const configReports = resolveNames(names, existingNames, referrers).map((name) => {
    const exists = existingNames.has(name);
    const { used, usedBy } = summarizeUse(name, referrers);
    return {
      name,
      exists,
      rendered: isRenderedConfig(name),
      pool: parsePoolName(name) ?? null,
      used,
      usedBy,
      suggestion: exists ? null : (findNearestName(name, existingNames) ?? null),
    };
  });
  return {
    server,
    readAt: at.toISOString(),
    allUsed: configReports.every(({ used }) => used),
    unreportedNodes: countUnreported(referrers),
    configs: configReports,
  };
}

/** A name that a reference has is complete, also if it does not exist. */
function resolveNames(
  names: readonly ConfigName[],
  existing: ReadonlySet<ConfigName>,
  referrers: readonly Referrer[],
): readonly ConfigName[] {
  const referenced = new Set(referrers.flatMap(({ references }) => references.map(({ config }) => config)));
  return [...new Set(names.map((name) => (referenced.has(name) ? name : resolveConfigName(name, existing))))];
}

/** Sorted by pool, the newest config first. Missing configs come first. */
function buildConfigListReport(
  { server, at, configs, referrers }: ClusterReferences,
  sizes: ReadonlyMap<ConfigName, number | undefined>,
): ConfigListReport {
  const createdAt = new Map(configs.map((config) => [config.name, config.createdAt]));
  const missing = referrers.flatMap(({ references }) =>
    references.flatMap(({ config, strength }) => (strength === 'strong' && !createdAt.has(config) ? [config] : [])),
  );
  const rendered = configs
    .filter(({ name }) => isRenderedConfig(name))
    .toSorted((a, b) => compare(parsePoolName(a.name), parsePoolName(b.name)) || compare(b.createdAt, a.createdAt));
  return {
    server,
    readAt: at.toISOString(),
    unreportedNodes: countUnreported(referrers),
    configs: [...[...new Set(missing)].toSorted(), ...rendered.map(({ name }) => name)].map((name) => {
      const { used, usedBy } = summarizeUse(name, referrers);
      return {
        name,
        exists: createdAt.has(name),
        pool: parsePoolName(name) ?? null,
        createdAt: createdAt.get(name)?.toISOString() ?? null,
        sizeBytes: sizes.get(name) ?? null,
        used,
        usedBy,
      };
    }),
  };
}

function summarizeUse(name: ConfigName, referrers: readonly Referrer[]): Pick<ConfigUse, 'used' | 'usedBy'> {
  const { strong, weak } = summarizeReferences(name, referrers);
  const usedBy = [...strong.references, ...weak.references].map(({ kind, name: referrer, field, strength }) => {
    return { kind, name: referrer, field, keepsConfig: strength === 'strong' };
  });
  return { used: strong.total > 0, usedBy };
}

function compare(a: string | Date = '', b: string | Date = ''): number {
  return a < b ? -1 : Number(a > b);
}

/** Configs without a size were deleted meanwhile. */
export function buildUnusedReport(
  { server, at, referrers }: ClusterReferences,
  unused: ReturnType<typeof findUnusedConfigs>,
  sizes: ReadonlyMap<ConfigName, number | undefined>,
  holds: ReturnType<typeof findHolds>,
): UnusedReport {
  const configReports = unused.flatMap(({ name, createdAt, weakReferences }) => {
    const sizeBytes = sizes.get(name);
    if (sizeBytes === undefined) return [];
    return {
      name,
      pool: parsePoolName(name) ?? null,
      createdAt: createdAt.toISOString(),
      heldUntil: holds.get(name)?.until.toISOString() ?? null,
      sizeBytes,
      mentionedBy: weakReferences.map(({ kind, name: referrer, field }) => ({ kind, name: referrer, field })),
    };
  });
  return {
    server,
    readAt: at.toISOString(),
    unreportedNodes: countUnreported(referrers),
    unused: configReports,
    totalBytes: configReports.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  };
}

function countUnreported(referrers: readonly Referrer[]): number {
  return referrers.filter((referrer) => referrer.kind === 'Node' && referrer.isConfigUnreported === true).length;
}
