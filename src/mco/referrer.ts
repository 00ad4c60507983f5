/** Branded: another object's name, passed by mistake, would look unused, and its deletion be allowed. */
export type ConfigName = string & { readonly __brand: 'ConfigName' };

/** `rendered-<pool>-<32 hex>` (machine-config-operator, pkg/controller/render/hash.go). */
export const RENDERED_PREFIX = 'rendered-';
const RENDERED_NAME = /^rendered-(?<pool>.+)-[0-9a-f]{32}$/;
/** Kubernetes limits the names of objects (RFC 1123). */
export const MAX_NAME_LENGTH = 253;
const SUBDOMAIN = /^[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?$/;

/** Brands the `metadata.name` of a config, or a field that names a config. */
export function toConfigName(name: string): ConfigName {
  return name as ConfigName;
}

/**
 * Whether the guard protects the config. Only the prefix counts, because a config that a person created again
 * may lack the hash, the owner and the annotations.
 */
export function isRenderedConfig(name: ConfigName): boolean {
  return name.startsWith(RENDERED_PREFIX);
}

export function parsePoolName(name: ConfigName): string | undefined {
  return RENDERED_NAME.exec(name)?.groups?.['pool'];
}

/** Whether an object can have this name (RFC 1123 subdomain). */
export function isObjectName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && SUBDOMAIN.test(name);
}

/** The kinds that can reference a config, each with its noun, in the order of messages. */
export const REFERRER_NOUNS = { Node: 'node', MachineConfigPool: 'pool', MachineOSBuild: 'build' } as const;

export type ReferrerKind = keyof typeof REFERRER_NOUNS;

export const REFERRER_KINDS = Object.keys(REFERRER_NOUNS) as readonly ReferrerKind[];

/** The annotations of a node, and the parts of a pool, whose references are strong. See also {@link REASON_FIELD}. */
export const NODE_FIELDS = ['currentConfig', 'desiredConfig'] as const;
export const POOL_FIELDS = ['spec', 'status'] as const;
/** The config that a node's reason for being Degraded names, unless an annotation above names it. */
export const REASON_FIELD = 'reason';

/** A strong reference denies, because the referrer breaks without the config. A weak one only warns. */
export type Strength = 'strong' | 'weak';

export interface Reference {
  /** Such as `currentConfig`, `spec` or `firstPivotConfig`. */
  readonly field: string;
  readonly config: ConfigName;
  readonly strength: Strength;
}

export interface NamedReference extends Reference {
  readonly kind: ReferrerKind;
  readonly name: string;
}

/** An object that can reference configs, reduced to what a decision needs. */
export type Referrer = NodeReferrer | PoolReferrer | BuildReferrer;

interface ReferencingObject {
  readonly name: string;
  readonly references: readonly Reference[];
}

export interface NodeReferrer extends ReferencingObject {
  readonly kind: 'Node';
  readonly state: NodeState;
  /**
   * Present if the operator moves the node to no other config: the custom pools that select it, of which the operator
   * accepts one, or none if no pool selects it. Only known of a node for which a GET confirmed a reference.
   */
  readonly conflictingPools?: readonly string[] | undefined;
}

export type NodeState =
  /** It has `currentConfig`, or the operator does not manage it. */
  | { readonly type: 'configured' | 'unmanaged' }
  | {
      readonly type: 'unreported';
      readonly createdAt: Date | undefined;
      /** Undefined if it has an annotation of the operator. See `isManagedByOperator`. */
      readonly labels: Readonly<Record<string, unknown>> | undefined;
    };

export interface PoolReferrer extends ReferencingObject {
  readonly kind: 'MachineConfigPool';
  readonly version?: string | undefined;
  readonly isTerminating?: true | undefined;
  /** Its deletion waits for that of its configs, so it has no references. See `parsePoolReferrer`. */
  readonly isDeletedInForeground?: true;
  readonly nodeSelector?: unknown;
  readonly emptyStatus?: EmptyStatus | undefined;
  /** `restore` has paused the pool. `since` is undefined if it is unknown. */
  readonly pausedForRestore?: { readonly config: string; readonly since: Date | undefined } | undefined;
  /** The last transition of the condition `Updated`, in whole seconds. */
  readonly updatedChangedAt?: Date | undefined;
  /** When a manager that owns `spec.configuration` last wrote the pool, in whole seconds. */
  readonly specChangedAt?: Date | undefined;
  /** The same of `status.configuration`. The operator also writes it with every change of the machine counts. */
  readonly statusChangedAt?: Date | undefined;
}

export interface BuildReferrer extends ReferencingObject {
  readonly kind: 'MachineOSBuild';
}

/** A pool whose spec names a config and whose status names none. */
interface EmptyStatus {
  /** Since when the pool rolls out its first config. Undefined if unknown. */
  readonly since: Date | undefined;
  readonly hasUpdatedMachine: boolean;
  /** The condition `RenderDegraded`: the operator reports there why the pool gets no config. */
  readonly cannotRender: boolean;
}

export interface UnreadableSource {
  readonly name: string;
  readonly reason: string;
}

export interface ClusterState {
  readonly referrers: readonly Referrer[];
  /** Unless this is empty, no config counts as unused. */
  readonly unreadable: readonly UnreadableSource[];
  /** The time of the API server when it listed the referrers. Undefined if it listed none. */
  readonly readAt?: Date | undefined;
}

export interface ReferenceGroup {
  /** Those of the first referrers of each kind. References of the same referrer are adjacent. */
  readonly references: readonly NamedReference[];
  readonly referrersByKind: Readonly<Record<ReferrerKind, number>>;
  readonly total: number;
}

/** All references to one config, and other facts for its message. */
export interface ReferenceSummary {
  readonly strong: ReferenceGroup;
  readonly weak: ReferenceGroup;
  readonly unreportedNodes: number;
  /** Whether the pool of the config is being deleted, or does not exist. */
  readonly isPoolDeleted: boolean;
  /** A node with `conflictingPools`, which the operator moves to no other config. */
  readonly stuckNode: Pick<NodeReferrer, 'name' | 'conflictingPools'> | undefined;
}

export function findReferencedConfig(referrer: Referrer, field: string): ConfigName | undefined {
  return referrer.references.find((reference) => reference.field === field)?.config;
}

export function isUnreportedNode(
  referrer: Referrer,
): referrer is NodeReferrer & { readonly state: { readonly type: 'unreported' } } {
  return referrer.kind === 'Node' && referrer.state.type === 'unreported';
}

export function isPool(referrer: Referrer): referrer is PoolReferrer {
  return referrer.kind === 'MachineConfigPool';
}

export function findUsedConfigs(referrers: Iterable<Referrer>): ReadonlySet<ConfigName> {
  const used = new Set<ConfigName>();
  for (const { references } of referrers) {
    for (const { config, strength } of references) if (strength === 'strong') used.add(config);
  }
  return used;
}

export function hasStrongReference(config: ConfigName, { references }: Referrer): boolean {
  return references.some((reference) => reference.strength === 'strong' && reference.config === config);
}

/**
 * @param referrers those of the config and all pools, or more
 * @param maxReferrersPerKind limits the references, but not the counts
 */
export function summarizeReferences(
  config: ConfigName,
  referrers: readonly Referrer[],
  maxReferrersPerKind: number = Number.POSITIVE_INFINITY,
): ReferenceSummary {
  return {
    strong: groupReferences(config, 'strong', referrers, maxReferrersPerKind),
    weak: groupReferences(config, 'weak', referrers, maxReferrersPerKind),
    unreportedNodes: referrers.filter(isUnreportedNode).length,
    isPoolDeleted: isPoolDeleted(parsePoolName(config), referrers.filter(isPool)),
    stuckNode: referrers.find(
      (referrer): referrer is NodeReferrer => referrer.kind === 'Node' && referrer.conflictingPools !== undefined,
    ),
  };
}

function groupReferences(
  config: ConfigName,
  strength: Strength,
  referrers: readonly Referrer[],
  maxReferrersPerKind: number,
): ReferenceGroup {
  const references: NamedReference[] = [];
  const referrersByKind = { Node: 0, MachineConfigPool: 0, MachineOSBuild: 0 };
  let total = 0;
  for (const { kind, name, references: all } of referrers) {
    const named = all.filter((reference) => reference.config === config && reference.strength === strength);
    if (named.length === 0) continue;
    total += named.length;
    referrersByKind[kind] += 1;
    if (referrersByKind[kind] > maxReferrersPerKind) continue;
    for (const reference of named) references.push({ kind, name, ...reference });
  }
  return { references, referrersByKind, total };
}

/** Early in an installation there are no pools. */
function isPoolDeleted(pool: string | undefined, pools: readonly PoolReferrer[]): boolean {
  if (pool === undefined || pools.length === 0) return false;
  return !pools.some(({ name, isTerminating }) => name === pool && isTerminating !== true);
}
