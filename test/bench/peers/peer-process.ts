import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { issueServerCertificate } from '../../e2e/control-plane/certificates.ts';
import { Child } from '../../e2e/control-plane/child.ts';
import { type ControlPlane, kubeconfig } from '../../e2e/control-plane/control-plane.ts';
import { freePorts } from '../../e2e/control-plane/free-ports.ts';
import type { ProcessReaper } from '../../e2e/control-plane/process-reaper.ts';
import { certificateIn, serveArguments } from '../../e2e/support/guard-process.ts';
import { imageEnvironment } from '../../e2e/support/image-environment.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import { serviceAccountToken } from '../../e2e/support/service-account.ts';
import type { WebhookAddress } from '../contestants.ts';

const GET_AND_DENY = fileURLToPath(new URL('get-and-deny.ts', import.meta.url));
const NAMESPACE = 'default';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const READY_TIMEOUT_MS = 30_000;

/** What a webhook is told when it starts. */
interface Place {
  /** Folder with tls.crt and tls.key. */
  readonly certDir: string;
  /** On 127.0.0.1. */
  readonly port: number;
  /** File. */
  readonly kubeconfig: string;
}

/** How a webhook is started. */
export interface WebhookProgram {
  readonly command: string;
  readonly args: (place: Place) => readonly string[];
  /** What its environment has beside that of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The bundle. */
export const guardProgram: WebhookProgram = {
  command: process.execPath,
  env: imageEnvironment(),
  args: ({ certDir, port, kubeconfig }) =>
    serveArguments({
      kubeconfig,
      certificate: certificateIn(certDir),
      ports: { securePort: port, healthPort: 0, metricsPort: 0 },
    }),
};

/** The webhook on controller-runtime: how it looks into its cache, or `no-op` to allow everything and read nothing. */
export function controllerRuntime(binary: string, mode: 'scan' | 'index' | 'no-op'): WebhookProgram {
  return { command: binary, args: (place) => [`--mode=${mode}`, ...flagsOf(place)] };
}

/** Bare node:https that reads this node and denies everything. */
export function getAndDeny(node: string): WebhookProgram {
  return {
    command: process.execPath,
    args: (place) => ['--import', 'tsx', GET_AND_DENY, `--node=${node}`, ...flagsOf(place)],
  };
}

function flagsOf({ certDir, port, kubeconfig }: Place): readonly string[] {
  return [`--cert-dir=${certDir}`, `--port=${port}`, `--kubeconfig=${kubeconfig}`];
}

/** Who a webhook is to the API server. */
export interface WebhookIdentity {
  /** As the audit log names it. */
  readonly user: string;
  /** File. */
  readonly kubeconfig: string;
}

/** A service account of this name with what the guard may read. The guard's RBAC has to be there. */
export async function peerIdentity(
  { apiServer, caCertificate, directory }: ControlPlane,
  name: string,
): Promise<WebhookIdentity> {
  const { admin, url } = apiServer;
  const account = { name, namespace: NAMESPACE };
  await admin.create(`${PATHS.namespaces}/${NAMESPACE}/serviceaccounts`, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: account,
  });
  await admin.create(`${RBAC}/clusterrolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: `bench-${name}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'machineconfig-guard' },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  });
  const token = await serviceAccountToken(admin, NAMESPACE, name);
  const file = join(directory, `${name}.kubeconfig`);
  await writeFile(file, kubeconfig(url, caCertificate, { token }), { mode: 0o600 });
  return { user: `system:serviceaccount:${NAMESPACE}:${name}`, kubeconfig: file };
}

/** A webhook that can be started: it has a certificate, a port and an identity. */
export interface PreparedWebhook extends WebhookAddress {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly port: number;
  /** File with everything that it says. */
  readonly log: string;
  readonly reaper: ProcessReaper;
}

/** All that takes time before a webhook can be started, and is not its own doing. */
export async function prepare(
  { directory, reaper }: ControlPlane,
  { command, args, env }: WebhookProgram,
  { kubeconfig }: WebhookIdentity,
): Promise<PreparedWebhook> {
  const certDir = await mkdtemp(join(directory, 'webhook-'));
  const pair = await issueServerCertificate();
  await writeFile(join(certDir, 'tls.key'), pair.key, { mode: 0o600 });
  await writeFile(join(certDir, 'tls.crt'), pair.certificate);
  const [port = 0] = await freePorts(1);
  return {
    command,
    args: args({ certDir, port, kubeconfig }),
    env: { ...process.env, ...env },
    port,
    // Not beside the certificate, whose folder is watched: each line would make the webhook look there.
    log: `${certDir}.log`,
    reaper,
    url: `https://127.0.0.1:${port}/validate`,
    ca: pair.ca,
  };
}

/** A webhook as a process of its own, serving on 127.0.0.1. It ends with the control plane. */
export class PeerProcess implements WebhookAddress {
  readonly url: string;
  readonly ca: string;
  readonly log: string;
  readonly #child: Child;

  private constructor(child: Child, { url, ca, log }: PreparedWebhook) {
    this.#child = child;
    this.url = url;
    this.ca = ca;
    this.log = log;
  }

  /** Returns at once. */
  static spawn(prepared: PreparedWebhook): PeerProcess {
    const { command, args, env, log, reaper } = prepared;
    return new PeerProcess(new Child({ command, args, env, logFile: log, reaper }), prepared);
  }

  /** Returns once it listens. */
  static async start(controlPlane: ControlPlane, program: WebhookProgram, identity: WebhookIdentity) {
    const prepared = await prepare(controlPlane, program, identity);
    const peer = PeerProcess.spawn(prepared);
    await peer.#child.waitUntil(() => accepts(prepared.port), READY_TIMEOUT_MS);
    return peer;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** The exit code; null when a signal ended it. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    return this.#child.stop(signal, 5_000);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
