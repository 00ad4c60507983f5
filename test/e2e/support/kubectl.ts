import { parseAllDocuments } from 'yaml';

import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { runProcess } from './process.ts';

/** Runs the kubectl of the cluster's release as an administrator. */
export function kubectl(controlPlane: ControlPlane, args: readonly string[], input = '') {
  const all = [`--kubeconfig=${controlPlane.apiServer.kubeconfig}`, ...args];
  // Without a proxy, and with a home of its own for the discovery cache.
  const env = { PATH: process.env['PATH'], HOME: controlPlane.directory };
  return runProcess(controlPlane.kubectl, all, { env, input });
}

/**
 * Runs kubectl and returns its standard output.
 *
 * @throws Error unless the exit code is 0
 */
export async function kubectlOk(controlPlane: ControlPlane, args: readonly string[], input = '') {
  const { exitCode, stdout, stderr } = await kubectl(controlPlane, args, input);
  if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${exitCode}: ${stderr || stdout}`);
  return stdout;
}

/** The objects that `kubectl kustomize` builds from a directory. */
export async function buildDirectory(controlPlane: ControlPlane, directory: string) {
  const yaml = await kubectlOk(controlPlane, ['kustomize', directory]);
  return parseAllDocuments(yaml).map((document) => document.toJS() as KubeObject);
}
