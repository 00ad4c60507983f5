import { isDeepStrictEqual } from 'node:util';
import { listParts } from '../rendered-config/config-parts.ts';
import {
  KUBELET_CONFIG,
  MACHINE_CONFIG,
  POOL,
  RUNTIME_CONFIG,
  type Json,
  type ManifestObject,
  type ManifestSet,
  ROLE_LABEL,
  ROLES,
} from './manifest-set.ts';

/** Whether configs are rendered from the object, so that it must be the same for the bootstrap host and the cluster. */
export function changesRenders(object: ManifestObject, set: ManifestSet): boolean {
  const { id, type, name, labels } = object;
  if (type === POOL) return ROLES.includes(name);
  const other = set.byId.get(id);
  if (other !== undefined && other !== object && isEqualInput(object, other)) return false;
  if (type === MACHINE_CONFIG) {
    const isEmpty = listParts(object.spec).every(({ name: part }) => part === 'config.ignition.version');
    return !isEmpty && set.findPools(labels).length > 0;
  }
  return set.catalog.has('renderInputs', type) && (!selectsPools(object) || set.findSelectedPools(object).length > 0);
}

/** Whether configs are rendered from both objects as from one. */
export function isEqualInput(object: ManifestObject, other: ManifestObject): boolean {
  const { type, labels, spec } = object;
  // The operator accepts only one for a pool, and appends these lists.
  if (selectsPools(object) || spec['kernelArguments'] || spec['extensions']) return false;
  if (type !== MACHINE_CONFIG) return isDeepStrictEqual(spec, other.spec);
  return isDeepStrictEqual([getRole(labels), spec], [getRole(other.labels), other.spec]);
}

/** Whether the object is a KubeletConfig or a ContainerRuntimeConfig. */
function selectsPools({ type }: ManifestObject): boolean {
  return type === KUBELET_CONFIG || type === RUNTIME_CONFIG;
}

/** `role worker`, if a label says so. */
export function getRole(labels: Json | undefined): string | undefined {
  const role = labels?.[ROLE_LABEL];
  return typeof role === 'string' && role !== '' ? `role ${role}` : undefined;
}

export function formatMiB(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
