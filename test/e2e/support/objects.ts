import { randomBytes } from 'node:crypto';

import type { KubeObject } from '../control-plane/kube-client.ts';

export const MCO = 'machineconfiguration.openshift.io';

/** A new name as the operator builds it (machine-config-operator, pkg/controller/render/hash.go). */
export function renderedName(pool = 'worker') {
  return `rendered-${pool}-${randomBytes(16).toString('hex')}`;
}

/** The merge patch of a node by which the operator assigns a config, or the daemon reports its state. */
export function nodePatch(values: object): object {
  return { metadata: { annotations: operatorAnnotations(values) } };
}

/** These values as annotations of the operator. */
export function operatorAnnotations(values: object): Readonly<Record<string, string>> {
  const entries = Object.entries(values) as [string, string][];
  return Object.fromEntries(entries.map(([field, value]) => [`${MCO}/${field}`, value]));
}

/** The annotations of a node, those of the operator without their prefix. */
export function readAnnotations({ metadata }: Pick<KubeObject, 'metadata'>): Readonly<Record<string, string>> {
  const entries = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key.replace(`${MCO}/`, ''), value]));
}
