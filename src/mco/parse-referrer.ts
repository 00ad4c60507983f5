import { LRUCache } from 'lru-cache';
import {
  type BuildReferrer,
  NODE_FIELDS,
  type NodeReferrer,
  POOL_FIELDS,
  type PoolReferrer,
  type Reference,
  type Strength,
} from './referrer.ts';
import {
  type ApiObject,
  findWriteTime,
  MalformedObject,
  MAX_NAME_LENGTH,
  parseTime,
  readName,
} from '../kube/api-object.ts';
import type { ObjectFilter } from '../kube/lists/protobuf-list-parser.ts';
import { isWindows } from './pool-of-node.ts';
import { PAUSED_FOR_RESTORE } from '../api/annotations.ts';
import { MCO_GROUP } from './api-paths.ts';
import { type ConfigName, toConfigName } from './machine-config.ts';

/** Shared, because there are thousands of nodes. */
const CONFIGURED = { type: 'configured' } as const;
/**
 * These references are weak: the operator compares `drain-<config>` and `uncordon-<config>` as strings and
 * does not read the config (machine-config-operator, pkg/daemon/drain.go).
 */
const DRAIN_FIELDS = ['desiredDrain', 'lastAppliedDrain'] as const;
const DRAIN_PREFIX = /^(?:drain|uncordon)-/;
/** The config that a machine booted with, until it has joined its custom pool (OpenShift 4.22). */
const FIRST_PIVOT_CONFIG = 'firstPivotConfig';
/** Of Kubernetes (apimachinery, pkg/apis/meta/v1/types.go). */
const FOREGROUND_DELETION = 'foregroundDeletion';
/** Conditions of a build that no longer reads its config. */
const FINAL_CONDITIONS = new Set<unknown>(['Succeeded', 'Failed', 'Interrupted']);

const MCO_PREFIX = `${MCO_GROUP}/`;

/** How the entry of `currentConfig` begins in the protobuf of a node: its key, and the tag of its value. */
const CURRENT_CONFIG_ENTRY = Buffer.from(toEntryStart(`${MCO_PREFIX}currentConfig`));
/** The tag of a label, which can have the same key. One byte follows it, because a label has at most 63 characters. */
const LABEL_TAG = 0x5a;
/** To search for more takes as long as to parse the node. */
const MAX_SEARCHED_CONFIGS = 8;

function toEntryStart(key: string): string {
  return `\n${String.fromCharCode(key.length)}${key}\u0012`;
}

/**
 * Returns a test for the bytes of a node in protobuf. It is true for each node that names one of these configs, because
 * its bytes contain the name, and for each that has not reported a `currentConfig`. It can be true for others.
 */
export function createNodeFilter(configs: ReadonlySet<ConfigName>): ObjectFilter {
  if (configs.size > MAX_SEARCHED_CONFIGS) return () => true;
  const names = [...configs].map((config) => Buffer.from(config));
  return (node) => {
    const start = node.indexOf(CURRENT_CONFIG_ENTRY);
    const isAnnotation = start !== -1 && node[start - 2] !== LABEL_TAG;
    const hasReported = isAnnotation && node[start + CURRENT_CONFIG_ENTRY.length] !== 0;
    return !hasReported || names.some((name) => node.includes(name));
  };
}

/**
 * Parses a node from its metadata. `currentConfig` and `desiredConfig` are strong, because the
 * machine-config-daemon gets both configs at every start and sync, and degrades the node if one is missing
 * (machine-config-operator, pkg/daemon/daemon.go). It never asks for a config that only its disk or its reason names
 * (docs/internals/decisions/0011-restore.md).
 */
export function parseNodeReferrer(node: ApiObject): NodeReferrer {
  const name = readName(node, 'Node');
  const { annotations, labels, creationTimestamp } = node.metadata ?? {};
  const read = (field: string): string | undefined =>
    toText(annotations?.[`${MCO_PREFIX}${field}`], () => `annotation ${field} of node ${name}`);
  const references: Reference[] = [];
  for (const field of NODE_FIELDS) addReference(references, field, 'strong', read(field));
  const firstField = references[0]?.field;
  for (const field of DRAIN_FIELDS) {
    const value = read(field) ?? '';
    if (DRAIN_PREFIX.test(value)) addReference(references, field, 'weak', value.replace(DRAIN_PREFIX, ''));
  }
  addReference(references, FIRST_PIVOT_CONFIG, 'weak', read(FIRST_PIVOT_CONFIG));
  const referrer = { kind: 'Node', name, references: shareReferences(references) } as const;
  if (firstField === 'currentConfig') return { ...referrer, state: CONFIGURED };
  const isAnnotated = Object.keys(annotations ?? {}).some((key) => key.startsWith(MCO_PREFIX));
  // The operator does not manage Windows nodes, so they never report a config.
  if (!isAnnotated && isWindows(labels)) return { ...referrer, state: { type: 'unmanaged' } };
  const createdAt = parseTime(creationTimestamp);
  return { ...referrer, state: { type: 'unreported', createdAt, labels: isAnnotated ? undefined : (labels ?? {}) } };
}

/**
 * A pool that is being deleted in the foreground has no references: it waits until its rendered configs are gone, so a
 * reference would block both forever. Its nodes reference the configs that they run. A pool that waits for another
 * finalizer keeps its references, because the machine-config-server still serves them.
 */
export function parsePoolReferrer(pool: ApiObject): PoolReferrer {
  const name = readName(pool, 'MachineConfigPool');
  const subject = `pool ${name}`;
  const { creationTimestamp, deletionTimestamp, finalizers } = pool.metadata ?? {};
  const isTerminating = (deletionTimestamp ?? undefined) !== undefined || undefined;
  const references: Reference[] = [];
  const referrer = {
    kind: 'MachineConfigPool',
    name,
    version: readVersion(pool),
    references,
    isTerminating,
    nodeSelector: readValue(pool, ['spec', 'nodeSelector'], subject),
  } as const;
  if (isTerminating && Array.isArray(finalizers) && finalizers.includes(FOREGROUND_DELETION)) {
    return { ...referrer, isDeletedInForeground: true };
  }
  for (const field of POOL_FIELDS) {
    addReference(references, field, 'strong', readText(pool, [field, 'configuration', 'name'], subject));
  }
  const conditions = readValue(pool, ['status', 'conditions'], subject);
  const updatedChangedAt = parseTime(findCondition(conditions, 'Updated')?.lastTransitionTime);
  const updatedMachines = readValue(pool, ['status', 'updatedMachineCount'], subject);
  const emptyStatus = {
    // The operator writes this condition once the spec names a config, so until the status does, it dates the roll-out.
    since: updatedChangedAt ?? parseTime(creationTimestamp),
    hasUpdatedMachine: typeof updatedMachines === 'number' && updatedMachines > 0,
    cannotRender: findCondition(conditions, 'RenderDegraded')?.status === 'True',
  };
  const isStatusEmpty = references.length === 1 && references[0]?.field === 'spec';
  return {
    ...referrer,
    updatedChangedAt,
    // The API server records when the fields that name configs were last written (docs/internals/decisions/0010).
    specChangedAt: findWriteTime(pool, ['f:spec', 'f:configuration']),
    statusChangedAt: findWriteTime(pool, ['f:status', 'f:configuration'], 'status'),
    emptyStatus: isStatusEmpty ? emptyStatus : undefined,
    pausedForRestore: findRestore(pool),
  };
}

function findRestore(pool: ApiObject): PoolReferrer['pausedForRestore'] {
  const config = pool.metadata?.annotations?.[PAUSED_FOR_RESTORE];
  const { paused } = (pool.spec ?? {}) as { readonly paused?: unknown };
  if (typeof config !== 'string' || paused !== true) return undefined;
  const since = findWriteTime(pool, ['f:metadata', 'f:annotations', `f:${PAUSED_FOR_RESTORE}`]);
  return { config: truncateName(config), since };
}

/** Returns since when a node has not been Ready. Undefined if it is Ready, or if its conditions do not say so. */
export function findNotReadySince({ status }: ApiObject): Date | undefined {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown };
  const ready = findCondition(conditions, 'Ready');
  return ready === undefined || ready.status === 'True' ? undefined : parseTime(ready.lastTransitionTime);
}

interface Condition {
  readonly status?: unknown;
  readonly lastTransitionTime?: unknown;
}

/** No reference depends on a condition of a pool or a node, so anything but a condition of this type is ignored. */
function findCondition(conditions: unknown, type: string): Condition | undefined {
  if (!Array.isArray(conditions)) return undefined;
  return (conditions as readonly unknown[]).find(
    (condition): condition is Condition =>
      typeof condition === 'object' && condition !== null && 'type' in condition && condition.type === type,
  );
}

/** Strong until the build ends. v1 has `spec.machineConfig`, v1alpha1 (OpenShift 4.16, 4.17) `spec.desiredConfig`. */
export function parseBuildReferrer(build: ApiObject): BuildReferrer {
  const name = readName(build, 'MachineOSBuild');
  const references: Reference[] = [];
  const strength = hasEnded(build, name) ? 'weak' : 'strong';
  for (const field of ['machineConfig', 'desiredConfig'] as const) {
    addReference(references, field, strength, readText(build, ['spec', field, 'name'], `build ${name}`));
  }
  return { kind: 'MachineOSBuild', name, version: readVersion(build), references };
}

function hasEnded(build: ApiObject, name: string): boolean {
  const conditions = readValue(build, ['status', 'conditions'], `build ${name}`);
  if (conditions === undefined) return false;
  if (!Array.isArray(conditions)) throw new MalformedObject(`status.conditions of build ${name} is not a list`);
  return conditions.some((condition: unknown) => {
    const subject = `a condition of build ${name}`;
    const isFinal = FINAL_CONDITIONS.has(readValue(condition, ['type'], subject));
    return isFinal && readValue(condition, ['status'], subject) === 'True';
  });
}

function addReference(references: Reference[], field: string, strength: Strength, config: string | undefined): void {
  if (config === undefined || config === '') return;
  // A drain annotation usually repeats the node's own current or desired config.
  if (strength === 'weak' && references.some((reference) => reference.config === config)) return;
  references.push({ field, config: toConfigName(truncateName(config)), strength });
}

/** Thousands of nodes have few different lists of references. */
const REFERENCES = new LRUCache<string, readonly Reference[]>({ max: 1_000 });

/** Returns the same list for equal references, so that the index keeps it once: 10,000 nodes take 2.8 MB less. */
function shareReferences(references: readonly Reference[]): readonly Reference[] {
  const key = JSON.stringify(references);
  const shared = REFERENCES.get(key) ?? references;
  REFERENCES.set(key, shared);
  return shared;
}

/** An annotation can have 256 KiB. One character more than a name can have keeps the reference dangling. */
function truncateName(name: string): string {
  if (name.length <= MAX_NAME_LENGTH) return name;
  return Buffer.from(name.slice(0, MAX_NAME_LENGTH + 1)).toString();
}

function readVersion({ metadata }: ApiObject): string | undefined {
  const version = metadata?.resourceVersion;
  return typeof version === 'string' ? version : undefined;
}

function readText(object: unknown, path: readonly string[], subject: string): string | undefined {
  return toText(readValue(object, path, subject), () => `${path.join('.')} of ${subject}`);
}

/** Throws on another type, because an unreadable reference must not look like an absent one. */
function toText(value: unknown, describeField: () => string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new MalformedObject(`${describeField()} is not a string`);
  return value;
}

function readValue(object: unknown, path: readonly string[], subject: string): unknown {
  let value = object;
  for (const key of path) {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'object' || Array.isArray(value)) {
      throw new MalformedObject(`${path.join('.')} of ${subject} has a parent that is not an object`);
    }
    value = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  }
  return value ?? undefined;
}
