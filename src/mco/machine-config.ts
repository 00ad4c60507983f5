import { ALLOW_DELETION_ANNOTATION } from '../api/annotations.ts';
import { skipInvisible, toPrintableLine } from '../common/printable-text.ts';
import {
  type ApiObject,
  isObjectName,
  MalformedObject,
  MAX_NAME_LENGTH,
  parseTime,
  readName,
} from '../kube/api-object.ts';

/** Branded: another object's name, passed by mistake, would look unused, and its deletion be allowed. */
export type ConfigName = string & { readonly __brand: 'ConfigName' };

/** `rendered-<pool>-<32 hex>` (machine-config-operator, pkg/controller/render/hash.go). */
export const RENDERED_PREFIX = 'rendered-';
/** Of a reason in the log, the audit log and the status. */
const MAX_REASON_LENGTH = 256;
const RENDERED_NAME = /^rendered-(?<pool>.+)-[0-9a-f]{32}$/;

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

/** Returns the pool in the name `rendered-<pool>-<hash>`. Undefined if the name has another form. */
export function parsePoolName(name: ConfigName): string | undefined {
  return RENDERED_NAME.exec(name)?.groups?.['pool'];
}

/** Returns a name on one printable line, truncated after the longest possible name. Quotes what no object can have. */
export function formatName(name: string): string {
  return toPrintableLine(isObjectName(name) ? name : JSON.stringify(name), MAX_NAME_LENGTH);
}

/** A config as far as a hold depends on it. */
export interface HoldableConfig {
  readonly name: ConfigName;
  readonly ownerPool?: string;
  readonly createdAt: Date | undefined;
}

/** A config as the index keeps it. */
export interface WatchedConfig extends HoldableConfig {
  readonly uid: string;
  readonly createdAt: Date;
  /** Whether it has a deletionTimestamp and waits for its finalizers. */
  readonly isTerminating: boolean;
  readonly isOverridden: boolean;
}

/** Returns the fields that a hold depends on. A malformed field counts as absent. */
export function parseHoldableConfig(metadata: NonNullable<ApiObject['metadata']>): HoldableConfig {
  const { name, creationTimestamp, ownerReferences } = metadata;
  const owners = Array.isArray(ownerReferences) ? (ownerReferences as (Record<string, unknown> | null)[]) : [];
  const ownerPool = owners.find((owner) => owner?.['kind'] === 'MachineConfigPool')?.['name'];
  return {
    name: toConfigName(String(name)),
    createdAt: parseTime(creationTimestamp),
    ...(typeof ownerPool === 'string' && isObjectName(ownerPool) ? { ownerPool } : {}),
  };
}

/** Parses the metadata of a MachineConfig. The guard never reads its content. @throws MalformedObject */
export function parseConfigMetadata(object: ApiObject): WatchedConfig {
  readName(object, 'MachineConfig');
  const { uid, deletionTimestamp, annotations, ...metadata } = object.metadata ?? {};
  const config = parseHoldableConfig(metadata);
  const { createdAt } = config;
  if (createdAt === undefined) throw new MalformedObject('a MachineConfig has no creationTimestamp');
  const isTerminating = (deletionTimestamp ?? undefined) !== undefined;
  const isOverridden = findOverrideReason(annotations?.[ALLOW_DELETION_ANNOTATION]) !== undefined;
  return { ...config, createdAt, uid: String(uid), isTerminating, isOverridden };
}

/** Returns the reason in the annotation on one printable line. Without a visible one it allows nothing. */
export function findOverrideReason(annotation: unknown): string | undefined {
  const reason = typeof annotation === 'string' ? skipInvisible(annotation) : '';
  return toPrintableLine(reason, MAX_REASON_LENGTH) || undefined;
}
