import { isObjectName, toConfigName } from '../decision/references.ts';
import type { HoldableConfig } from '../decision/verdict.ts';
import { type ApiObject, parseTime } from './api-object.ts';

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
