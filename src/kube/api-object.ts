import { isObjectName, toConfigName } from '../decision/references.ts';
import type { HoldableConfig } from '../decision/verdict.ts';

/** The fields of an API object that the guard reads. None of them is validated. */
export interface ApiObject {
  readonly metadata?: {
    readonly name?: unknown;
    readonly uid?: unknown;
    readonly namespace?: unknown;
    readonly resourceVersion?: unknown;
    readonly labels?: Readonly<Record<string, unknown>> | null;
    readonly annotations?: Readonly<Record<string, unknown>> | null;
    readonly deletionTimestamp?: unknown;
    readonly finalizers?: unknown;
    readonly creationTimestamp?: unknown;
    readonly managedFields?: unknown;
    readonly ownerReferences?: unknown;
  } | null;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** An object violates the schema of its kind. */
export class MalformedObject extends Error {
  override readonly name = 'MalformedObject';
}

/** Parses RFC 3339, or milliseconds since 1970. Returns undefined unless the value is a time. */
export function parseTime(value: unknown): Date | undefined {
  const time = new Date(typeof value === 'string' || typeof value === 'number' ? value : Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** Parses the metadata of a MachineConfig on which its hold depends. */
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

/**
 * Returns when the managers that own a field last wrote the object. The API server sets these times by its own clock.
 *
 * @param path keys of `fieldsV1`, such as `['f:spec', 'f:paused']`
 * @returns undefined if no manager owns the field
 */
export function findWriteTime({ metadata }: ApiObject, path: readonly string[], subresource = ''): Date | undefined {
  const entries = Array.isArray(metadata?.managedFields) ? (metadata.managedFields as unknown[]) : [];
  const times = entries.flatMap((entry) => {
    const { time, subresource: written = '', fieldsV1 } = (entry ?? {}) as Record<string, unknown>;
    const date = parseTime(time);
    return date !== undefined && written === subresource && hasPath(fieldsV1, path) ? [date] : [];
  });
  return times.toSorted((a, b) => b.getTime() - a.getTime())[0];
}

function hasPath(fields: unknown, path: readonly string[]): boolean {
  let value = fields;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return true;
}
