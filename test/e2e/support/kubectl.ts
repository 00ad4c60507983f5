import { parseAllDocuments } from 'yaml';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { runOk, runProcess } from './process.ts';

/** The kubectl of the cluster's release as an administrator, for {@link runProcess}. */
function command({ apiServer, directory, binaries }: ControlPlane, args: readonly string[], input = '') {
  // Without a proxy, and with a home of its own for the discovery cache.
  const env = { PATH: process.env['PATH'], HOME: directory };
  return [binaries.kubectl, [`--kubeconfig=${apiServer.kubeconfig}`, ...args], { env, input }] as const;
}

export function kubectl(...invocation: Parameters<typeof command>) {
  return runProcess(...command(...invocation));
}

/**
 * Runs kubectl and returns its standard output.
 * @throws Error unless the exit code is 0
 */
export function kubectlOk(...invocation: Parameters<typeof command>) {
  return runOk(...command(...invocation));
}

/** The objects that `kubectl kustomize` builds from a directory. */
export async function buildDirectory(controlPlane: ControlPlane, directory: string) {
  return parseObjects(await kubectlOk(controlPlane, ['kustomize', directory]));
}

/** The object in each document of a YAML text. */
export function parseObjects(yaml: string): readonly KubeObject[] {
  return parseAllDocuments(yaml).map((document) => document.toJS() as KubeObject);
}
