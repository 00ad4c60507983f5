import { type ConfigName, isRendered, poolOf } from '../policy/config-name.ts';
import { nearestName } from '../policy/nearest-name.ts';
import { type Reference, type RenderedConfig, whoUses } from '../policy/references.ts';
import type { Referrer, Strength } from '../policy/referrer.ts';

/** What `who-uses CONFIG… --output json` prints. The keys are a contract. */
export interface UsesReport {
  /** Address of the API server. */
  readonly server: string;
  /** When everything had been read; RFC 3339. */
  readonly readAt: string;
  /** Exit code 0: every config asked about is in use. */
  readonly allUsed: boolean;
  /** Nodes that have not said yet which config they run: they may use any. */
  readonly unreportedNodes: number;
  readonly configs: readonly ConfigUses[];
}

/** One config asked about. */
export interface ConfigUses {
  readonly name: string;
  /** Is it in the API? What names one that is not dangles. */
  readonly exists: boolean;
  /** Is it one that the guard protects? */
  readonly rendered: boolean;
  /** The pool that it was rendered for, as far as its name tells. */
  readonly pool: string | null;
  /** Would the guard refuse to delete it? */
  readonly used: boolean;
  readonly usedBy: readonly UsedBy[];
  /** Only where it does not exist: the config with the nearest name. */
  readonly suggestion: string | null;
}

/** One place that names a config. */
export interface UsedBy {
  readonly kind: Reference['kind'];
  readonly name: string;
  readonly field: string;
  /** `hard` keeps the config; a `note` is worth knowing and keeps nothing. */
  readonly strength: Strength;
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
  readonly unused: readonly UnusedConfig[];
  readonly totalBytes: number;
}

/** A rendered config that nothing uses. */
export interface UnusedConfig {
  readonly name: string;
  /** The pool that it was rendered for, as far as its name tells. */
  readonly pool: string | null;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Its JSON, as the API server sends it. */
  readonly sizeBytes: number;
  /** Places that name it and do not keep it. */
  readonly mentionedBy: readonly Omit<UsedBy, 'strength'>[];
}

/** What was read of a cluster: the configs first, so that everything that names one of them is seen. */
export interface Usage {
  readonly server: string;
  readonly at: Date;
  readonly configs: readonly RenderedConfig[];
  readonly referrers: readonly Referrer[];
}

/** Who uses these configs. */
export function usesReport({ server, at, configs, referrers }: Usage, asked: readonly ConfigName[]): UsesReport {
  const existing = new Set(configs.map(({ name }) => name));
  const uses = asked.map((name): ConfigUses => {
    const { hard, notes } = whoUses(name, referrers);
    const exists = existing.has(name);
    return {
      name,
      exists,
      rendered: isRendered(name),
      pool: poolOf(name) ?? null,
      used: hard.total > 0,
      usedBy: [...hard.references, ...notes.references].map(usedBy),
      suggestion: exists ? null : (nearestName(name, existing) ?? null),
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
export function unusedConfigs({
  configs,
  referrers,
}: Usage): (RenderedConfig & { readonly notes: readonly Reference[] })[] {
  const unused = [];
  for (const { name, createdAt } of configs) {
    if (!isRendered(name)) continue;
    const { hard, notes } = whoUses(name, referrers);
    if (hard.total === 0) unused.push({ name, createdAt, notes: notes.references });
  }
  return unused.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.name < b.name ? -1 : 1));
}

/** The report of `--unused`. Those without a size have gone meanwhile. */
export function unusedReport(
  { server, at, referrers }: Usage,
  unused: ReturnType<typeof unusedConfigs>,
  sizes: ReadonlyMap<ConfigName, number>,
): UnusedReport {
  const left = unused.flatMap(({ name, createdAt, notes }): UnusedConfig[] => {
    const sizeBytes = sizes.get(name);
    if (sizeBytes === undefined) return [];
    const mentionedBy = notes.map(({ kind, name, field }) => ({ kind, name, field }));
    return [{ name, pool: poolOf(name) ?? null, createdAt: createdAt.toISOString(), sizeBytes, mentionedBy }];
  });
  return {
    server,
    readAt: at.toISOString(),
    unreportedNodes: unreported(referrers),
    unused: left,
    totalBytes: left.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  };
}

function usedBy({ kind, name, field, strength }: Reference): UsedBy {
  return { kind, name, field, strength };
}

function unreported(referrers: readonly Referrer[]): number {
  return referrers.filter((referrer) => referrer.unreported === true).length;
}
