import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { ThrowawayAuthority } from '../../e2e/control-plane/certificates.ts';
import { Child } from '../../e2e/control-plane/child.ts';
import { type ControlPlane, kubeconfig } from '../../e2e/control-plane/control-plane.ts';
import { freePorts } from '../../e2e/control-plane/free-ports.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import { serviceAccountToken } from '../../e2e/support/service-account.ts';
import type { WebhookAddress } from '../contestants.ts';

const GET_AND_DENY = fileURLToPath(new URL('get-and-deny.ts', import.meta.url));
const NAMESPACE = 'default';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const READY_TIMEOUT_MS = 30_000;

/** A program with the flags `--cert-dir`, `--port` and `--kubeconfig`. */
export interface PeerProgram {
  readonly command: string;
  readonly args: readonly string[];
}

/** The webhook on controller-runtime: how it looks into its cache, or `no-op` to allow everything and read nothing. */
export function controllerRuntime(binary: string, mode: 'scan' | 'index' | 'no-op'): PeerProgram {
  return { command: binary, args: [`--mode=${mode}`] };
}

/** Bare node:https that reads this node and denies everything. */
export function getAndDeny(node: string): PeerProgram {
  return { command: process.execPath, args: ['--import', 'tsx', GET_AND_DENY, `--node=${node}`] };
}

/** Who a peer is to the API server. */
export interface PeerIdentity {
  /** As the audit log names it. */
  readonly user: string;
  /** File. */
  readonly kubeconfig: string;
}

/** A service account with what the guard may read. The guard's RBAC has to be there. */
export async function peerIdentity(
  { apiServer, caCertificate, directory }: ControlPlane,
  name: string,
): Promise<PeerIdentity> {
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

/** A webhook that is not the guard, as a process of its own, serving on 127.0.0.1. */
export class PeerProcess implements WebhookAddress {
  readonly url: string;
  readonly ca: string;
  readonly #child: Child;

  private constructor(child: Child, url: string, ca: string) {
    this.#child = child;
    this.url = url;
    this.ca = ca;
  }

  /** Returns once it listens, or with `listening: false` at once. It ends with the control plane. */
  static async start(
    { directory, leash }: ControlPlane,
    { command, args }: PeerProgram,
    { kubeconfig }: PeerIdentity,
    { listening = true } = {},
  ): Promise<PeerProcess> {
    const own = await mkdtemp(join(directory, 'peer-'));
    const authority = new ThrowawayAuthority();
    const { key, certificate } = authority.server();
    await writeFile(join(own, 'tls.key'), key, { mode: 0o600 });
    await writeFile(join(own, 'tls.crt'), certificate);
    const [port = 0] = await freePorts(1);
    const child = new Child({
      command,
      args: [...args, `--cert-dir=${own}`, `--port=${port}`, `--kubeconfig=${kubeconfig}`],
      logFile: join(own, 'peer.log'),
      leash,
    });
    if (listening) await child.until(() => accepts(port), READY_TIMEOUT_MS);
    return new PeerProcess(child, `https://127.0.0.1:${port}/validate`, authority.certificate);
  }

  get pid(): number {
    return this.#child.pid;
  }

  async stop(): Promise<void> {
    await this.#child.stop('SIGTERM', 5_000);
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
