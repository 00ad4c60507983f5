import { type ConfigName, isRenderedConfig, poolOfConfig } from '../decision/config-name.ts';
import { findNearestName } from '../decision/nearest-name.ts';
import {
  type NamedReference,
  type ConfigMetadata,
  summarizeReferences,
  type Referrer,
} from '../decision/references.ts';

/** What `who-uses CONFIG… --output json` prints. The keys are a contract. */
export interface ReferencesReport {
  /** Address of the API server. */
  readonly server: string;
  /** When everything had been read; RFC 3339. */
  readonly readAt: string;
  /** Exit code 0: every config asked about is in use. */
  readonly allUsed: boolean;
  /** Nodes that have not said yet which config they run: they may use any. */
  readonly unreportedNodes: number;
  readonly configs: readonly ReferencesReportConfig[];
}

/** One config asked about. */
export interface ReferencesReportConfig {
  readonly name: string;
  /** Is it in the API? What names one that is not dangles. */
  readonly exists: boolean;
  /** Is it one that the guard protects? */
  readonly rendered: boolean;
  /** The pool that it was rendered for, as far as its name tells. */
  readonly pool: string | null;
  /** Would the guard refuse to delete it? */
  readonly used: boolean;
  readonly usedBy: readonly ReferencesReportEntry[];
  /** Only where it does not exist: the config with the nearest name. */
  readonly suggestion: string | null;
}

/** One place that names a config. */
export interface ReferencesReportEntry {
  readonly kind: NamedReference['kind'];
  readonly name: string;
  readonly field: string;
  /** `hard` keeps the config; a `note` is worth knowing and keeps nothing. */
  readonly strength: 'hard' | 'note';
}

/** What `who-uses --unused --output json` prints. The keys are a contract. */
export interface UnusedReport {
  /** Address of the API server. */
  readonly server: string;
  /** When everything had been read; RFC 3339. */
  readonly readAt: string;
  /** Nodes that have not said yet which config they run: they may need one of these. */
  readonly unreportedNodes: number;
  /** Rendered configs that nothing uses, the oldest first. */
  readonly unused: readonly UnusedReportConfig[];
  readonly totalBytes: number;
}

/** A rendered config that nothing uses. */
export interface UnusedReportConfig {
  readonly name: string;
  /** The pool that it was rendered for, as far as its name tells. */
  readonly pool: string | null;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Its JSON, as the API server sends it. */
  readonly sizeBytes: number;
  /** Places that name it and do not keep it. */
  readonly mentionedBy: readonly Omit<ReferencesReportEntry, 'strength'>[];
}

/** What was read of a cluster: the configs first, so that everything that names one of them is seen. */
export interface ClusterReferences {
  readonly server: string;
  readonly at: Date;
  readonly configs: readonly ConfigMetadata[];
  readonly referrers: readonly Referrer[];
}

/** Who uses these configs. */
export function buildReferencesReport(
  { server, at, configs, referrers }: ClusterReferences,
  asked: readonly ConfigName[],
): ReferencesReport {
  const existing = new Set(configs.map(({ name }) => name));
  const uses = asked.map((name): ReferencesReportConfig => {
    const { strong, weak } = summarizeReferences(name, referrers);
    const exists = existing.has(name);
    return {
      name,
      exists,
      rendered: isRenderedConfig(name),
      pool: poolOfConfig(name) ?? null,
      used: strong.total > 0,
      usedBy: [...strong.references, ...weak.references].map(usedBy),
      suggestion: exists ? null : (findNearestName(name, existing) ?? null),
    };
  });
  return {
    server,
    readAt: at.toISOString(),
    allUsed: uses.every(({ used }) => used),
    unreportedNodes: unreported(referrers),
    configs: uses,
  };
}

/** Rendered configs that nothing uses, the oldest first, without their sizes. */
export function findUnusedConfigs({
  configs,
  referrers,
}: ClusterReferences): (ConfigMetadata & { readonly notes: readonly NamedReference[] })[] {
  const unused = [];
  for (const { name, createdAt } of configs) {
    if (!isRenderedConfig(name)) continue;
    const { strong, weak } = summarizeReferences(name, referrers);
    if (strong.total === 0) unused.push({ name, createdAt, notes: weak.references });
  }
  return unused.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.name < b.name ? -1 : 1));
}

/** The report of `--unused`. Those without a size have gone meanwhile. */
export function buildUnusedReport(
  { server, at, referrers }: ClusterReferences,
  unused: ReturnType<typeof findUnusedConfigs>,
  sizes: ReadonlyMap<ConfigName, number>,
): UnusedReport {
  const left = unused.flatMap(({ name, createdAt, notes }): UnusedReportConfig[] => {
    const sizeBytes = sizes.get(name);
    if (sizeBytes === undefined) return [];
    const mentionedBy = notes.map(({ kind, name, field }) => ({ kind, name, field }));
    return [{ name, pool: poolOfConfig(name) ?? null, createdAt: createdAt.toISOString(), sizeBytes, mentionedBy }];
  });
  return {
    server,
    readAt: at.toISOString(),
    unreportedNodes: unreported(referrers),
    unused: left,
    totalBytes: left.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  };
}

function usedBy({ kind, name, field, strength }: NamedReference): ReferencesReportEntry {
  return { kind, name, field, strength: strength === 'strong' ? 'hard' : 'note' };
}

function unreported(referrers: readonly Referrer[]): number {
  return referrers.filter((referrer) => referrer.isUnreported === true).length;
}
