import { toConfigName } from '../decision/config-name.ts';
import type { Referrer, ReferrerKind, Strength, Reference } from '../decision/references.ts';
import { type ApiObject, MalformedObject } from '../kube/api-object.ts';

const MCO = 'machineconfiguration.openshift.io';
const CURRENT_CONFIG = `${MCO}/currentConfig`;
const DESIRED_CONFIG = `${MCO}/desiredConfig`;
const FIRST_PIVOT_CONFIG = `${MCO}/firstPivotConfig`;
const CONFIG_ANNOTATIONS = [
  [CURRENT_CONFIG, 'currentConfig'],
  [DESIRED_CONFIG, 'desiredConfig'],
] as const;
/** Values have the form `drain-<config>` or `uncordon-<config>` and are only ever compared as strings (machine-config-operator, pkg/daemon/drain.go). */
const DRAIN_ANNOTATIONS = [
  [`${MCO}/desiredDrain`, 'desiredDrain'],
  [`${MCO}/lastAppliedDrain`, 'lastAppliedDrain'],
] as const;
const DRAIN_VERBS = ['drain-', 'uncordon-'] as const;
/** A MachineOSBuild with one of these conditions true reads its config no more. */
const BUILD_ENDED = new Set(['Succeeded', 'Failed', 'Interrupted']);

/** All annotations of a node that {@link parseNodeReferrer} reads. */
export const NODE_REFERENCE_ANNOTATIONS: readonly string[] = [
  CURRENT_CONFIG,
  DESIRED_CONFIG,
  FIRST_PIVOT_CONFIG,
  ...DRAIN_ANNOTATIONS.map(([annotation]) => annotation),
];

/**
 * Which configs does this node name? `currentConfig` and `desiredConfig` are hard: the machine-config-daemon gets both
 * objects at every start and sync and degrades the node where one is missing (machine-config-operator,
 * pkg/daemon/daemon.go). Works on metadata alone.
 *
 * @throws UnreadableObject where the object has no name or an annotation is not a string
 */
export function parseNodeReferrer(node: ApiObject): Referrer {
  const name = nameOf(node, 'Node');
  const annotations = node.metadata?.annotations ?? {};
  const references: Reference[] = [];
  for (const [annotation, field] of CONFIG_ANNOTATIONS) {
    addReference(references, field, 'strong', annotationOf(annotations, annotation, name));
  }
  const isUnreported = references.length === 0;
  for (const [annotation, field] of DRAIN_ANNOTATIONS) {
    const value = annotationOf(annotations, annotation, name) ?? '';
    const verb = DRAIN_VERBS.find((one) => value.startsWith(one));
    if (verb !== undefined) addReference(references, field, 'weak', value.slice(verb.length));
  }
  addReference(references, 'firstPivotConfig', 'weak', annotationOf(annotations, FIRST_PIVOT_CONFIG, name));
  return isUnreported ? { kind: 'Node', name, references, isUnreported } : { kind: 'Node', name, references };
}

/**
 * Which configs does this pool name? One that is being deleted counts for nothing: under foreground deletion it waits for
 * its rendered configs to go first, so counting it would block both for ever. Nodes that still run such a config protect
 * it by themselves.
 *
 * @throws UnreadableObject where the object does not have a pool's shape
 */
export function parsePoolReferrer(pool: ApiObject): Referrer {
  const name = nameOf(pool, 'MachineConfigPool');
  if (pool.metadata?.deletionTimestamp !== undefined && pool.metadata.deletionTimestamp !== null) {
    return { kind: 'MachineConfigPool', name, references: [], isTerminating: true };
  }
  const references: Reference[] = [];
  for (const field of ['spec', 'status'] as const) {
    const path = `${field}.configuration.name of pool ${name}`;
    const configuration = member(member(pool, field, path), 'configuration', path);
    addReference(references, field, 'strong', text(member(configuration, 'name', path), path));
  }
  return { kind: 'MachineConfigPool', name, references };
}

/**
 * Which config does this build name? Hard until the build has ended, a note afterwards. `spec.machineConfig` is the v1
 * field, `spec.desiredConfig` that of v1alpha1 (OpenShift 4.16 and 4.17).
 *
 * @throws UnreadableObject where the object does not have a build's shape
 */
export function parseBuildReferrer(build: ApiObject): Referrer {
  const name = nameOf(build, 'MachineOSBuild');
  const references: Reference[] = [];
  const strength = hasEnded(build, name) ? 'weak' : 'strong';
  for (const field of ['machineConfig', 'desiredConfig'] as const) {
    const path = `spec.${field}.name of build ${name}`;
    addReference(
      references,
      field,
      strength,
      text(member(member(member(build, 'spec', path), field, path), 'name', path), path),
    );
  }
  return { kind: 'MachineOSBuild', name, references };
}

function hasEnded(build: ApiObject, name: string): boolean {
  const path = `status.conditions of build ${name}`;
  const conditions = member(member(build, 'status', path), 'conditions', path);
  if (conditions === undefined) return false;
  if (!Array.isArray(conditions)) throw new MalformedObject(`${path} is not a list`);
  return conditions.some((condition: unknown) => {
    const type = member(condition, 'type', path);
    return typeof type === 'string' && BUILD_ENDED.has(type) && member(condition, 'status', path) === 'True';
  });
}

function addReference(references: Reference[], field: string, strength: Strength, config: string | undefined): void {
  if (config === undefined || config === '') return;
  // A drain note that repeats the node's own current or desired config tells nothing new.
  if (strength === 'weak' && references.some((reference) => reference.config === config)) return;
  references.push({ field, config: toConfigName(config), strength });
}

function nameOf(object: ApiObject, kind: ReferrerKind): string {
  const name = object.metadata?.name;
  if (typeof name !== 'string' || name === '') throw new MalformedObject(`a ${kind} has no name`);
  return name;
}

/** The value of an annotation. Its path is made where it is needed: there are thousands of nodes, and seldom a fault. */
function annotationOf(annotations: Readonly<Record<string, unknown>>, key: string, node: string): string | undefined {
  const value = annotations[key];
  return typeof value === 'string' ? value : text(value, `annotation ${key} of node ${node}`);
}

/** The text, or undefined where there is none. Anything else is refused: a reference that cannot be read is not "none". */
function text(value: unknown, path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new MalformedObject(`${path} is not a string`);
  return value;
}

function member(value: unknown, key: string, path: string): unknown {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw new MalformedObject(`${path} is not where it should be`);
  return Object.hasOwn(value, key) ? ((value as Record<string, unknown>)[key] ?? undefined) : undefined;
}
