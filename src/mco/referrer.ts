import type { ConfigName } from './machine-config.ts';

/** The kinds that can reference a config, each with its noun, in the order of messages. */
export const REFERRER_NOUNS = { Node: 'node', MachineConfigPool: 'pool', MachineOSBuild: 'build' } as const;

export type ReferrerKind = keyof typeof REFERRER_NOUNS;

export const REFERRER_KINDS = Object.keys(REFERRER_NOUNS) as readonly ReferrerKind[];

/** The annotations of a node, and the parts of a pool, whose references are strong. */
export const NODE_FIELDS = ['currentConfig', 'desiredConfig'] as const;
export const POOL_FIELDS = ['spec', 'status'] as const;

/** A strong reference denies, because the referrer breaks without the config. A weak one only warns. */
export type Strength = 'strong' | 'weak';

/** A field of an object that names a config. */
export interface Reference {
  /** Such as `currentConfig`, `spec` or `firstPivotConfig`. */
  readonly field: string;
  readonly config: ConfigName;
  readonly strength: Strength;
}

/** A reference and the object that has it. */
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
  readonly version?: string | undefined;
}

/** A pool whose spec names a config and whose status names none. */
interface EmptyStatus {
  /** Since when the pool rolls out its first config. Undefined if unknown. */
  readonly since: Date | undefined;
  readonly hasUpdatedMachine: boolean;
  /** The condition `RenderDegraded`: the operator reports there why the pool gets no config. */
  readonly cannotRender: boolean;
}

/** Returns the config that this field names. */
export function findReferencedConfig(referrer: Referrer, field: string): ConfigName | undefined {
  return referrer.references.find((reference) => reference.field === field)?.config;
}

/** A node that has not reported a `currentConfig`. */
export type UnreportedNode = NodeReferrer & { readonly state: { readonly type: 'unreported' } };

/** Whether the operator may manage this node although it has not reported a config. */
export function isUnreportedNode(referrer: Referrer): referrer is UnreportedNode {
  return referrer.kind === 'Node' && referrer.state.type === 'unreported';
}

/** Whether the referrer is a MachineConfigPool. */
export function isPool(referrer: Referrer): referrer is PoolReferrer {
  return referrer.kind === 'MachineConfigPool';
}

/** Returns the configs that a strong reference names. */
export function findUsedConfigs(referrers: Iterable<Referrer>): ReadonlySet<ConfigName> {
  const used = new Set<ConfigName>();
  for (const { references } of referrers) {
    for (const { config, strength } of references) if (strength === 'strong') used.add(config);
  }
  return used;
}

/** Whether the referrer keeps this config from deletion. */
export function hasStrongReference(config: ConfigName, { references }: Referrer): boolean {
  return references.some((reference) => reference.strength === 'strong' && reference.config === config);
}
