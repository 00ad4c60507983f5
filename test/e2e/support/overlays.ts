import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { KubeObject } from '../control-plane/kube-client.ts';
import type { PodTemplate } from './pod.ts';

export const MANIFESTS = fileURLToPath(new URL('../../../manifests', import.meta.url));

export const OVERLAYS = (await readdir(join(MANIFESTS, 'overlays'))).sort();

/** The overlay of this name. */
export function overlay(name: string): string {
  return join(MANIFESTS, 'overlays', name);
}

export type Deployment = KubeObject & {
  readonly spec: {
    readonly replicas: number;
    readonly strategy: { readonly rollingUpdate: { readonly maxSurge: number; readonly maxUnavailable: number } };
    readonly template: PodTemplate & { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } };
  };
};

/** Its Deployment; undefined where the overlay has no pod. */
export function deploymentIn(objects: readonly KubeObject[]): Deployment | undefined {
  return objects.find(({ kind }) => kind === 'Deployment') as Deployment | undefined;
}
