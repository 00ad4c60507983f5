import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { kubeconfig, type ControlPlane } from '../control-plane/control-plane.ts';
import { until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';

const PROGRAM = fileURLToPath(new URL('../../../dist/machineconfig-guard.cjs', import.meta.url));
const MCO = 'machineconfiguration.openshift.io';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** What a command has left behind. */
export interface Inspected {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that may still be running. */
export interface Inspecting {
  readonly ended: Promise<Inspected>;
  /** Waits until it has said that on stderr. */
  readonly said: (words: string) => Promise<void>;
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const READ = ['get', 'list'];

/** All that the commands need; what certificate requests and the guard's own object show is extra. */
export const READ_ONLY: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: READ },
  { apiGroups: [MCO], resources: ['machineconfigs', 'machineconfigpools', 'machineosbuilds'], verbs: READ },
];

/** The same, as the platform's own role for people who only look. */
export const CLUSTER_READER: readonly Rule[] = [
  ...READ_ONLY,
  { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: READ },
];

/** Somebody with a laptop, these rights and no others, the bundle, and kubectl with the plugin on the PATH. */
export class Inspector {
  /** As the audit log names them. */
  readonly user: string;
  readonly kubeconfig: string;
  readonly #path: string;

  private constructor(user: string, kubeconfig: string, path: string) {
    this.user = user;
    this.kubeconfig = kubeconfig;
    this.#path = path;
  }

  static async withRights(controlPlane: ControlPlane, rules: readonly Rule[]): Promise<Inspector> {
    if (!existsSync(PROGRAM)) throw new Error(`There is no ${PROGRAM}: run "npm run build" first.`);
    const { admin, url } = controlPlane.apiServer;
    const name = unique('reader');
    const namespace = `${PATHS.namespaces}/default`;
    await until('the namespace default', () => admin.find(namespace), { timeoutMs: 10_000 });
    await admin.create(`${namespace}/serviceaccounts`, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name },
    });
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    await admin.create(`${RBAC}/clusterroles`, { apiVersion, kind: 'ClusterRole', metadata: { name }, rules });
    await admin.create(`${RBAC}/clusterrolebindings`, {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
    });
    const token = await admin.create(`${namespace}/serviceaccounts/${name}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3_600 },
    });
    const home = join(controlPlane.directory, name);
    await mkdir(home);
    const file = join(home, 'kubeconfig');
    const credentials = { token: (token.status as { readonly token: string }).token };
    await writeFile(file, kubeconfig(url, controlPlane.caCertificate, credentials), { mode: 0o600 });
    await symlink(PROGRAM, join(home, 'kubectl-mcguard'));
    const path = [home, dirname(controlPlane.kubectl), process.env['PATH']].join(delimiter);
    return new Inspector(`system:serviceaccount:default:${name}`, file, path);
  }

  /** Runs the program to its end. */
  run(...args: string[]): Promise<Inspected> {
    return this.start(...args).ended;
  }

  /** Runs kubectl, which finds the plugin. */
  kubectl(...args: string[]): Promise<Inspected> {
    return this.#spawn('kubectl', args).ended;
  }

  start(...args: string[]): Inspecting {
    return this.#spawn(PROGRAM, args);
  }

  #spawn(command: string, args: readonly string[]): Inspecting {
    const env = { PATH: this.#path, HOME: dirname(this.kubeconfig), KUBECONFIG: this.kubeconfig };
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    return {
      ended: new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('close', (exitCode) => {
          resolve({ exitCode, stdout, stderr });
        });
      }),
      said: async (words) => {
        await until(`"${words}" on stderr`, () => Promise.resolve(stderr.includes(words)), { timeoutMs: 20_000 });
      },
    };
  }
}
