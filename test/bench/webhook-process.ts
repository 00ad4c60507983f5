import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { issueServerCertificate } from '../e2e/control-plane/certificates.ts';
import { Child, type ChildOptions } from '../e2e/control-plane/child.ts';
import { type ControlPlane, kubeconfig } from '../e2e/control-plane/control-plane.ts';
import { freePorts } from '../e2e/control-plane/free-ports.ts';
import { goBuild } from '../e2e/control-plane/go-build.ts';
import { kubectlOk } from '../e2e/support/kubectl.ts';
import { imageEnvironment, PROGRAM } from '../e2e/support/program.ts';
import { serviceAccountToken } from '../e2e/support/service-account.ts';
import type { WebhookAddress } from './first-answer.ts';

const GO_MODULE = fileURLToPath(new URL('peers/controller-runtime', import.meta.url));
const NAMESPACE = 'default';
const READY_TIMEOUT_MS = 30_000;

interface StartOptions {
  /** Folder with tls.crt and tls.key. */
  readonly certDir: string;
  /** On 127.0.0.1. */
  readonly port: number;
  readonly kubeconfig: string;
}

export type WebhookProgram = (options: StartOptions) => Pick<ChildOptions, 'command' | 'args' | 'env'>;

/** The bundled guard. */
export function guardProgram(): WebhookProgram {
  return ({ certDir, port, kubeconfig }) => ({
    command: process.execPath,
    args: [
      PROGRAM,
      'serve',
      `--kubeconfig=${kubeconfig}`,
      `--tls-cert-file=${certDir}/tls.crt`,
      `--tls-private-key-file=${certDir}/tls.key`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      '--health-port=0',
      '--metrics-port=0',
    ],
    env: { ...process.env, ...imageEnvironment() },
  });
}

/** The webhook on controller-runtime. */
export function goProgram(binary: string, mode: 'scan' | 'index'): WebhookProgram {
  return ({ certDir, port, kubeconfig }) => ({
    command: binary,
    args: [`--mode=${mode}`, `--cert-dir=${certDir}`, `--port=${port}`, `--kubeconfig=${kubeconfig}`],
  });
}

/** Builds the binary for {@link goProgram}, which takes about 2 minutes at first. */
export async function buildGoWebhook({ directory, reaper }: ControlPlane): Promise<string> {
  const output = join(directory, 'controller-runtime');
  await goBuild({ module: GO_MODULE, package: '.', output, ldflags: '-s -w', reaper });
  return output;
}

/** Creates a service account with the guard's ClusterRole. Returns its user name and a kubeconfig file. */
export async function createIdentity(controlPlane: ControlPlane, name: string) {
  const { apiServer, caCertificate, directory } = controlPlane;
  const account = `--serviceaccount=${NAMESPACE}:${name}`;
  await kubectlOk(controlPlane, ['create', 'serviceaccount', name, '--namespace', NAMESPACE]);
  const role = '--clusterrole=machineconfig-guard';
  await kubectlOk(controlPlane, ['create', 'clusterrolebinding', name, role, account]);
  const token = await serviceAccountToken(apiServer.admin, NAMESPACE, name);
  const file = join(directory, `${name}.kubeconfig`);
  await writeFile(file, kubeconfig(apiServer.url, caCertificate, { token }), { mode: 0o600 });
  return { user: `system:serviceaccount:${NAMESPACE}:${name}`, kubeconfig: file };
}

/** Creates a certificate and finds a port. `start` starts the process. */
export async function prepareWebhook({ directory, reaper }: ControlPlane, program: WebhookProgram, kubeconfig: string) {
  const certDir = await mkdtemp(join(directory, 'webhook-'));
  const { ca, key, certificate } = await issueServerCertificate();
  await writeFile(join(certDir, 'tls.key'), key, { mode: 0o600 });
  await writeFile(join(certDir, 'tls.crt'), certificate);
  const [port = 0] = await freePorts(1);
  // The guard watches the folder of its certificate, so the log must not be there.
  const options = { ...program({ certDir, port, kubeconfig }), logFile: `${certDir}.log`, reaper };
  const url = `https://127.0.0.1:${port}/validate`;
  return { url, ca, port, start: () => new Child(options) };
}

export type RunningWebhook = WebhookAddress & { readonly pid: number };

/** Starts a webhook and waits until it listens. */
export async function startWebhook(
  controlPlane: ControlPlane,
  program: WebhookProgram,
  kubeconfig: string,
): Promise<RunningWebhook> {
  const prepared = await prepareWebhook(controlPlane, program, kubeconfig);
  const child = prepared.start();
  await child.waitUntil(() => isListening(prepared.port), READY_TIMEOUT_MS);
  return { ...prepared, pid: child.pid };
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const events = await Promise.allSettled([once(socket, 'connect')]);
  socket.destroy();
  return events[0].status === 'fulfilled';
}
