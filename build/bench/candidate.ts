import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildWebhookConfiguration } from '../../test/support/webhook-configuration.ts';
import { testTls } from '../../test/support/tls.ts';
import type { Child } from '../../test/e2e/control-plane/child.ts';
import type { ControlPlane } from '../../test/e2e/control-plane/control-plane.ts';
import { freePorts } from '../../test/e2e/control-plane/free-ports.ts';
import { goBuild } from '../../test/e2e/control-plane/go-build.ts';
import { until } from '../../test/e2e/control-plane/until.ts';
import type { AuditEvent } from '../../test/e2e/support/audit-log.ts';
import { Cluster } from '../../test/e2e/support/cluster.ts';
import { KubeClient } from '../../test/e2e/control-plane/kube-client.ts';
import type { GuardedCluster } from '../../test/e2e/support/guarded-cluster.ts';
import { kubectlOk } from '../../test/e2e/support/kubectl.ts';
import { PATHS } from '../../test/e2e/support/objects.ts';
import { imageEnvironment, PROGRAM } from '../../test/e2e/support/programs.ts';
import { serviceAccountToken } from '../../test/e2e/support/service-account.ts';
import { startTcpProxy } from '../../test/e2e/support/tcp-proxy.ts';

const GO_MODULE = fileURLToPath(new URL('peers/controller-runtime', import.meta.url));
const CONFIG_BYTES = 8_000;
/** Creates a config of the size that all candidates get. */
export async function createConfig(cluster: Cluster): Promise<string> {
  return await cluster.config({ bytes: CONFIG_BYTES });
}

/** How much later each answer of a slow API server arrives. */
export const SLOW_MS = 500;
/** Between two attempts, so that the attempts take little of the processor. */
const RETRY_MS = 2;

/** The webhook on controller-runtime, which takes about 2 minutes to build at first, with its arguments. */
export async function goCommand({ directory }: ControlPlane, mode: 'scan' | 'index') {
  const output = join(directory, 'peer');
  await goBuild({ module: GO_MODULE, package: '.', output });
  return (folder: string, port: number, file: string) => {
    return [output, `--mode=${mode}`, `--cert-dir=${folder}`, `--port=${port}`, `--kubeconfig=${file}`];
  };
}

/** A bundle of the guard, by default the present one, with its arguments. */
export function guardCommand(bundle = PROGRAM): CreateCommand {
  return (folder, port, file) => {
    const certificate = [`--tls-cert-file=${folder}/tls.crt`, `--tls-private-key-file=${folder}/tls.key`];
    const ports = ['--bind-address=127.0.0.1', `--secure-port=${port}`, '--health-port=0', '--metrics-port=0'];
    return [process.execPath, bundle, 'serve', `--kubeconfig=${file}`, ...certificate, ...ports];
  };
}

/** Returns the command that runs a candidate with this folder of its certificate, port and kubeconfig. */
export type CreateCommand = (folder: string, port: number, kubeconfig: string) => readonly string[];

/** A config that all nodes name, and one that nothing names. All candidates decide about them. */
export interface Configs {
  readonly used: string;
  readonly unused: string;
}

/** A webhook with the rights of the guard that decides about the deletions of its own client. */
export interface Candidate {
  readonly name: string;
  /** Deletes configs as the client whose reviews the candidate gets. */
  readonly cluster: Cluster;
  /**
   * Starts it, after the end of its last process. Returns the milliseconds to its first denial of the config in use,
   * when it also allows deletions.
   */
  readonly start: () => Promise<number>;
  /** Starts it with a slow API server. Returns how often it lists all nodes during the work. */
  readonly countListsWhileSlow: (work: () => Promise<void>) => Promise<number>;
  readonly getPid: () => number;
}

/** Creates its account and its webhook configuration. It does not run yet. */
export async function registerCandidate(
  { cluster: { admin }, controlPlane }: GuardedCluster,
  { used, unused }: Configs,
  name: string,
  createCommand: CreateCommand,
): Promise<Candidate> {
  const id = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const folder = join(controlPlane.directory, id);
  await kubectlOk(controlPlane, ['create', 'serviceaccount', id, '--namespace=default']);
  const binding = ['create', 'clusterrolebinding', id, '--clusterrole=machineconfig-guard'];
  await kubectlOk(controlPlane, [...binding, `--serviceaccount=default:${id}`]);
  const token = await serviceAccountToken(admin, 'default', id);
  const file = await controlPlane.writeKubeconfig(id, { token });
  const { ca, leaf } = await testTls();
  const { certificatePem, privateKeyPem } = await leaf();
  await mkdir(folder);
  await writeFile(join(folder, 'tls.key'), privateKeyPem, { mode: 0o600 });
  await writeFile(join(folder, 'tls.crt'), certificatePem);
  const [port = 0] = await freePorts(1);
  const clientConfig = { url: `https://127.0.0.1:${port}/validate`, caBundle: Buffer.from(ca).toString('base64') };
  const configuration = buildWebhookConfiguration({ name: id, clientConfig, failurePolicy: 'Fail' });
  const user = `bench-${id}`;
  const condition = { name: 'client', expression: `request.userInfo.username == '${user}'` };
  const webhooks = configuration.webhooks.map((webhook) => {
    const matchConditions = [...webhook.matchConditions, condition];
    return { ...webhook, name: `${id}.bench.machineconfig-guard.io`, matchConditions };
  });
  await admin.create(PATHS.webhookConfigurations, { ...configuration, webhooks });
  const impersonate = { user, groups: ['system:masters'] };
  const cluster = new Cluster({
    admin: new KubeClient({ ...admin.connection, impersonate }),
    auditLog: controlPlane.apiServer.auditLog,
  });
  const env = { ...process.env, ...imageEnvironment() };
  let child: Child | undefined;

  async function start(kubeconfig = file): Promise<number> {
    const [command = '', ...args] = createCommand(folder, port, kubeconfig);
    await child?.stop('SIGKILL');
    const startedAt = performance.now();
    child = controlPlane.startChild(id, command, args, { env });
    const findDenial = async () => {
      const { status, body } = await cluster.dryRun(used);
      return status === 403 && JSON.stringify(body).includes('is in use by') && performance.now();
    };
    const deniedAt = await until(`the first denial of ${name}`, findDenial, { everyMs: RETRY_MS });
    await until(`the first allowed deletion of ${name}`, async () => (await cluster.dryRun(unused)).status === 200);
    return deniedAt - startedAt;
  }

  /** How often it has listed all nodes. */
  const countLists = async () => {
    const user = `system:serviceaccount:default:${id}`;
    const isList = ({ verb, objectRef, user: { username } }: AuditEvent) =>
      verb === 'list' && objectRef?.resource === 'nodes' && username === user;
    return (await cluster.auditEvents(isList, user)).length;
  };

  const countListsWhileSlow = async (work: () => Promise<void>) => {
    const slow = await startTcpProxy(Number(new URL(controlPlane.apiServer.url).port), { delayMs: SLOW_MS });
    try {
      await start(await controlPlane.writeKubeconfig(`${id}-slow`, { token }, `https://127.0.0.1:${slow.port}`));
      const before = await countLists();
      await work();
      return (await countLists()) - before;
    } finally {
      await slow.refuse();
    }
  };

  return { name, cluster, start: async () => await start(), countListsWhileSlow, getPid: () => child?.pid ?? 0 };
}
