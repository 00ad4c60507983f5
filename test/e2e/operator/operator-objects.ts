import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { parseObjects } from '../support/kubectl.ts';

/** The version in cluster.yaml. */
export const RELEASE_VERSION = '4.20.0';

const OBJECTS = parseObjects(readFileSync(join(import.meta.dirname, 'cluster.yaml'), 'utf8'));

/** The object of this kind that the operator reads in every cluster of the tests. */
export function findOperatorObject(kind: string): KubeObject {
  const object = OBJECTS.find((candidate) => candidate.kind === kind);
  if (object === undefined) throw new Error(`cluster.yaml has no ${kind}`);
  return object;
}

export async function createOperatorObjects(admin: KubeClient): Promise<void> {
  for (const object of OBJECTS) {
    const { apiVersion, kind, metadata, status } = object;
    const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
    const path = `${root}${scope}/${kind.toLowerCase()}s`;
    await admin.create(path, object);
    if (status !== undefined) await admin.patch(`${path}/${metadata.name}/status`, { status });
  }
}
