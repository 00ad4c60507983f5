import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

import { parseAllDocuments } from 'yaml';

import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';

export interface KubectlOutcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the kubectl of the cluster's own release as its administrator. Answers rather than throws: some tests want a refusal. */
export function kubectl(controlPlane: ControlPlane, args: readonly string[], input = ''): Promise<KubectlOutcome> {
  const all = [`--kubeconfig=${controlPlane.apiServer.kubeconfig}`, ...args];
  return new Promise((resolve, reject) => {
    // No proxy and no home of whoever runs the tests: kubectl keeps a discovery cache below it.
    const env = { PATH: process.env['PATH'], HOME: controlPlane.directory };
    const child = spawn(controlPlane.kubectl, all, { env });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
    child.stdin.end(input);
  });
}

/** The same, where anything but success is a mistake of the test's; its standard output. */
export async function kubectlOk(controlPlane: ControlPlane, args: readonly string[], input = ''): Promise<string> {
  const { exitCode, stdout, stderr } = await kubectl(controlPlane, args, input);
  if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${exitCode}: ${stderr || stdout}`);
  return stdout;
}

/** What `kubectl kustomize` makes of a directory; needs no cluster. */
export async function buildDirectory(binary: string, directory: string): Promise<readonly KubeObject[]> {
  const { stdout } = await promisify(execFile)(binary, ['kustomize', directory], { maxBuffer: 16 * 2 ** 20 });
  return parseAllDocuments(stdout).map((document) => document.toJS() as KubeObject);
}
