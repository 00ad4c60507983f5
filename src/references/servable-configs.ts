import { isDeepStrictEqual } from 'node:util';
import { type ConfigName, isObjectName, isRenderedConfig, toConfigName } from '../decision/config-name.ts';
import { formatTime } from '../decision/message.ts';
import type { ConfigHistory, Referrer, UnreadableSource } from '../decision/references.ts';
import { isOlderVersion } from '../kube/resource-version.ts';

/** A remembered config as in the status of the MachineConfigGuard. Times are RFC 3339. */
export interface StoredConfig {
  readonly name: string;
  /** The pool that names the config, or named it last. Absent if the guard knows of none. */
  readonly pool?: string;
  /** Absent while the pool names the config. */
  readonly lastServable?: string;
  /** Present while a node names the config. */
  readonly isOnNode?: true;
  /** The node that named the config when it was removed. */
  readonly removedNode?: string;
  readonly nodeRemoved?: string;
}

/** What the index knows of a config. */
type History = Omit<ConfigHistory, 'createdAt'>;

interface Memory {
  pool?: string | undefined;
  lastServable?: Date | undefined;
  removedNode?: string | undefined;
  nodeRemovedAt?: Date | undefined;
}

/** A stored config, and when it was first read like this. */
interface ReadConfig {
  readonly config: StoredConfig;
  readonly readAt: Date;
}

interface PoolState {
  readonly configs: ReadonlySet<ConfigName>;
  readonly version: string | undefined;
}

export interface ServableConfigsOptions {
  /** Whether the memory is complete only with the stored one, see {@link ServableConfigs.mergeStored}. */
  readonly isStored?: boolean;
  readonly now?: () => Date;
}

/** As in the schema of MachineConfigGuard. A cluster that is pruned has a few configs in each pool. */
const MAX_CONFIGS = 200;
/** The watch of MachineConfigs is never that late. */
const MIN_FORGET_MS = 3_600_000;

/**
 * Remembers until when pools have named each rendered config, and which config a node named when it was removed
 * (docs/adr/0010). The watches feed it, and the leader stores it. Forgets the configs that are deleted.
 */
export class ServableConfigs {
  readonly #now: () => Date;
  readonly #memories = new Map<ConfigName, Memory>();
  readonly #pools = new Map<string, PoolState>();
  readonly #nodeCounts = new Map<ConfigName, number>();
  /** When the current watch of each kind was listed. Undefined before and while its list is reported. */
  #poolsListedAt: Date | undefined;
  #nodesListedAt: Date | undefined;
  #stored: readonly ReadConfig[] | undefined;

  constructor({ isStored = false, now = () => new Date() }: ServableConfigsOptions = {}) {
    this.#now = now;
    this.#stored = isStored ? undefined : [];
  }

  /** Whether the pools, the nodes and the stored configs have been read. */
  get isComplete(): boolean {
    return this.#findUnread() === undefined;
  }

  /** Called for each change that a watch or its list reports. `after` is undefined for a deleted object. */
  update(before: Referrer | undefined, after: Referrer | undefined): void {
    const kind = (after ?? before)?.kind;
    if (kind === 'MachineConfigPool') this.#updatePool((after ?? before)?.name ?? '', after);
    else if (kind === 'Node') this.#updateNode(before, after);
  }

  /** Called before the changes of a new list are reported. The watch can have missed some. */
  startList(kind: string): void {
    if (kind === 'MachineConfigPool') this.#poolsListedAt = undefined;
  }

  /** Called after the changes of a new list were reported. */
  endList(kind: string): void {
    if (kind === 'MachineConfigPool') this.#poolsListedAt = this.#now();
    else if (kind === 'Node') this.#nodesListedAt = this.#now();
    this.#reconcile();
  }

  /**
   * Adds what another process has stored: the later time counts. If a config was servable then, and was not in the list
   * of this process, the time of the list counts. Undefined means that there is no stored memory.
   */
  mergeStored(stored: readonly StoredConfig[] | undefined): void {
    const before = new Map(this.#stored?.map((read) => [read.config.name, read]));
    const now = this.#now();
    this.#stored = (stored ?? []).map((config) => {
      const known = before.get(config.name);
      return known !== undefined && isDeepStrictEqual(known.config, config) ? known : { config, readAt: now };
    });
    this.#reconcile();
  }

  /** The configs to store, sorted by name. If there are too many, those that were servable long ago are omitted. */
  toStored(): readonly StoredConfig[] {
    const recent = [...new Set([...this.#memories.keys(), ...this.#nodeCounts.keys()])]
      .toSorted((a, b) => this.#lastUse(b) - this.#lastUse(a))
      .slice(0, MAX_CONFIGS);
    return recent.toSorted().map((name) => this.#toStoredConfig(name));
  }

  /** Forgets a deleted config, unless it was in use lately: it can have been created again before this call. */
  forget(name: ConfigName): void {
    if (this.#now().getTime() - this.#lastUse(name) > MIN_FORGET_MS) this.#memories.delete(name);
  }

  /**
   * Returns the history of a config after a live read. The watch can be late: if it lacks the version of a pool that
   * the read shows, the pool can have named any config in between.
   */
  historyOf(name: ConfigName, pools: Iterable<Referrer>): History {
    const { pool = '', lastServable, removedNode, nodeRemovedAt } = this.#memories.get(name) ?? {};
    const isServable = this.#isServable(name);
    return {
      unreadable: this.#findUnread() ?? this.#findLatePool(pools),
      watchedSince: this.#poolsListedAt,
      ...(isServable || lastServable !== undefined
        ? { servable: { pool, until: isServable ? undefined : lastServable } }
        : {}),
      ...(nodeRemovedAt === undefined ? {} : { removedNode: { name: removedNode, at: nodeRemovedAt } }),
    };
  }

  #toStoredConfig(name: ConfigName): StoredConfig {
    const { pool, lastServable, removedNode, nodeRemovedAt } = this.#memories.get(name) ?? {};
    return {
      name,
      ...(pool === undefined ? {} : { pool }),
      ...(lastServable === undefined || this.#isServable(name)
        ? {}
        : { lastServable: formatTime(lastServable) }),
      ...(this.#nodeCounts.has(name) ? { isOnNode: true } : {}),
      ...(removedNode === undefined ? {} : { removedNode }),
      ...(nodeRemovedAt === undefined ? {} : { nodeRemoved: formatTime(nodeRemovedAt) }),
    };
  }

  #findUnread(): UnreadableSource | undefined {
    const reason = 'not listed yet';
    if (this.#stored === undefined) return { name: 'machineconfigguards', reason };
    if (this.#poolsListedAt === undefined) return { name: 'machineconfigpools', reason };
    return this.#nodesListedAt === undefined ? { name: 'nodes', reason } : undefined;
  }

  #findLatePool(pools: Iterable<Referrer>): UnreadableSource | undefined {
    for (const { name, version } of pools) {
      if (version === undefined) continue;
      const watched = this.#pools.get(name)?.version;
      if (watched === undefined || isOlderVersion(watched, version)) {
        return {
          name: 'machineconfigpools',
          reason: `the watch has not delivered the last change of pool ${name}`,
        };
      }
    }
    return undefined;
  }

  #updatePool(name: string, after: Referrer | undefined): void {
    const before = this.#pools.get(name)?.configs ?? new Set();
    const configs = findStrongConfigs(after);
    if (after === undefined) this.#pools.delete(name);
    else this.#pools.set(name, { configs, version: after.version });
    for (const config of configs) this.#remember(config).pool = name;
    for (const config of before) {
      if (!this.#isServable(config))
        Object.assign(this.#remember(config), { pool: name, lastServable: this.#now() });
    }
  }

  #updateNode(before: Referrer | undefined, after: Referrer | undefined): void {
    // Heartbeats change nothing here, and the index shares equal references.
    if (before?.references === after?.references) return;
    const [old, current] = [findStrongConfigs(before), findStrongConfigs(after)];
    for (const config of current) if (!old.has(config)) this.#countNode(config, 1);
    for (const config of old) if (!current.has(config)) this.#countNode(config, -1);
    if (before === undefined || after !== undefined) return;
    for (const config of old) {
      Object.assign(this.#remember(config), { removedNode: before.name, nodeRemovedAt: this.#now() });
    }
  }

  #countNode(config: ConfigName, change: 1 | -1): void {
    const count = (this.#nodeCounts.get(config) ?? 0) + change;
    if (count > 0) this.#nodeCounts.set(config, count);
    else this.#nodeCounts.delete(config);
  }

  #isServable(config: ConfigName): boolean {
    for (const { configs } of this.#pools.values()) if (configs.has(config)) return true;
    return false;
  }

  #remember(config: ConfigName): Memory {
    const known = this.#memories.get(config);
    if (known !== undefined) return known;
    const memory: Memory = {};
    this.#memories.set(config, memory);
    if (this.#memories.size > MAX_CONFIGS) this.#forgetOldest(config);
    return memory;
  }

  #forgetOldest(added: ConfigName): void {
    const names = [...this.#memories.keys()].filter((name) => name !== added);
    const oldest = names.toSorted((a, b) => this.#lastUse(a) - this.#lastUse(b))[0];
    if (oldest !== undefined) this.#memories.delete(oldest);
  }

  #reconcile(): void {
    for (const { config: stored, readAt } of this.#stored ?? []) {
      const { pool, lastServable, isOnNode, removedNode, nodeRemoved } = stored;
      const config = toConfigName(stored.name);
      const known = this.#memories.get(config);
      // The first list after the reading ends an open record. Later lists must not move that time.
      const isAnswered = (time: Date | undefined): boolean => time !== undefined && time >= readAt;
      const servableUntil =
        this.#parsePast(lastServable) ?? (isAnswered(known?.lastServable) ? undefined : this.#poolsListedAt);
      if (pool !== undefined && servableUntil !== undefined && !this.#isServable(config)) {
        const memory = this.#remember(config);
        if (isLater(servableUntil, memory.lastServable))
          Object.assign(memory, { pool, lastServable: servableUntil });
      }
      const isGone = isOnNode === true && !this.#nodeCounts.has(config) && !isAnswered(known?.nodeRemovedAt);
      const nodeRemovedAt = this.#parsePast(nodeRemoved) ?? (isGone ? this.#nodesListedAt : undefined);
      if (nodeRemovedAt === undefined) continue;
      const memory = this.#remember(config);
      if (isLater(nodeRemovedAt, memory.nodeRemovedAt)) Object.assign(memory, { removedNode, nodeRemovedAt });
    }
  }

  /** Milliseconds. */
  #lastUse(config: ConfigName): number {
    if (this.#isServable(config)) return Number.MAX_VALUE;
    const { lastServable, nodeRemovedAt } = this.#memories.get(config) ?? {};
    const onNode = this.#nodeCounts.has(config) ? this.#now().getTime() : 0;
    return Math.max(lastServable?.getTime() ?? 0, nodeRemovedAt?.getTime() ?? 0, onNode);
  }

  /** The clock of another process can be ahead. */
  #parsePast(time: string | undefined): Date | undefined {
    const parsed = new Date(time ?? Number.NaN);
    const now = this.#now();
    if (Number.isNaN(parsed.getTime())) return undefined;
    return parsed > now ? now : parsed;
  }
}

/** Parses the stored configs. Ignores anything else, because a person can edit a status. */
export function parseStoredConfigs(status: unknown): readonly StoredConfig[] {
  const { servableConfigs } = (status ?? {}) as { readonly servableConfigs?: unknown };
  if (!Array.isArray(servableConfigs)) return [];
  return servableConfigs.filter(
    (entry: unknown): entry is StoredConfig =>
      typeof entry === 'object' &&
      entry !== null &&
      'name' in entry &&
      typeof entry.name === 'string' &&
      isPossibleName(toConfigName(entry.name)),
  );
}

function isLater(time: Date, other: Date | undefined): boolean {
  return other === undefined || time > other;
}

/** Ignores names that no config can have: annotations are untrusted, and people read the status. */
function findStrongConfigs(referrer: Referrer | undefined): ReadonlySet<ConfigName> {
  const strong = (referrer?.references ?? []).filter(({ strength }) => strength === 'strong');
  return new Set(strong.map(({ config }) => config).filter(isPossibleName));
}

function isPossibleName(name: ConfigName): boolean {
  return isRenderedConfig(name) && isObjectName(name);
}
