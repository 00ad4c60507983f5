import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parse } from 'yaml';

import type { Binaries } from './binaries.ts';
import { issueServerCertificate, type ServerCertificate } from './certificates.ts';
import { Child } from './child.ts';
import { freePorts } from './free-ports.ts';
import { KubeClient, type KubeClientOptions, type KubeObject } from './kube-client.ts';
import { ProcessReaper } from './process-reaper.ts';
import type { Release } from './releases.ts';
import { isHealthy, until } from './until.ts';

const READY_TIMEOUT_MS = 60_000;

/** Every request at level Metadata, as in OpenShift's default audit profile, without the control plane's own leases. */
const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [
    { level: 'None', resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }] },
    {
      level: 'None',
      nonResourceURLs: ['/readyz*', '/healthz*', '/livez*', '/openapi*', '/api', '/api/*', '/apis*'],
    },
    { level: 'Metadata' },
  ],
};

/** etcd, kube-apiserver and the garbage collector on this machine, with the OpenShift CRDs of their release. */
export class ControlPlane {
  readonly release: Release;
  /** Path of the kubectl of this release. */
  readonly kubectl: string;
  /** Holds etcd's data, certificates, kubeconfigs and logs. Removed at the end. */
  readonly directory: string;
  readonly reaper: ProcessReaper;
  /** PEM of the authority that issued every API server's certificate. */
  readonly caCertificate: string;
  readonly #binaries: Binaries;
  readonly #certificate: ServerCertificate;
  readonly #tokens = { admin: randomUUID(), controllerManager: randomUUID() };
  readonly #etcdData: string;
  readonly #etcdBackup: string;
  readonly #etcdPort: number;
  readonly #peerPort: number;
  #etcd: Child | undefined;
  readonly #apiServers: ApiServer[] = [];

  private constructor(
    binaries: Binaries,
    directory: string,
    certificate: ServerCertificate,
    [etcdPort = 0, peerPort = 0]: readonly number[],
  ) {
    this.#binaries = binaries;
    this.release = binaries.release;
    this.kubectl = binaries.kubectl;
    this.directory = directory;
    this.reaper = new ProcessReaper(directory);
    this.caCertificate = certificate.ca;
    this.#certificate = certificate;
    this.#etcdData = join(directory, 'etcd');
    this.#etcdBackup = join(directory, 'etcd-backup');
    this.#etcdPort = etcdPort;
    this.#peerPort = peerPort;
  }

  /**
   * Starts a control plane in about 4 s and returns when it is ready.
   *
   * @param options `openshift: false` omits the CRDs of OpenShift and the garbage collector
   */
  static async start(binaries: Binaries, { openshift = true } = {}): Promise<ControlPlane> {
    const directory = await mkdtemp(join(tmpdir(), 'mcg-control-plane-'));
    const certificate = await issueServerCertificate();
    const controlPlane = new ControlPlane(binaries, directory, certificate, await freePorts(2));
    try {
      await Promise.all([controlPlane.#startEtcd(), controlPlane.#writeSharedFiles()]);
      await controlPlane.startApiServer();
      if (openshift) await controlPlane.installOpenShift();
    } catch (error) {
      await controlPlane.stop();
      throw error;
    }
    return controlPlane;
  }

  /** The API server that was started first. */
  get apiServer(): ApiServer {
    const [first] = this.#apiServers;
    if (first === undefined) throw new Error('The control plane has no API server yet.');
    return first;
  }

  /** Creates the CRDs of OpenShift and starts the garbage collector. */
  async installOpenShift(): Promise<void> {
    await this.installCrds(this.#binaries.crds.map((text) => parse(text, omitFormatRules) as KubeObject));
    // Last, because the garbage collector looks for new kinds only every 30 s.
    await this.#startGarbageCollector();
  }

  /** Creates these definitions and returns when the API server serves their kinds. */
  async installCrds(crds: readonly KubeObject[]): Promise<void> {
    const { admin } = this.apiServer;
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await Promise.all(crds.map((crd) => admin.create(path, crd)));
    const isServed = async (crd: KubeObject) => {
      const { group, names, versions } = crd.spec as CrdSpec;
      const version = versions.find(({ served }) => served);
      if (version === undefined) return true;
      // An Established CRD can still return 429 "storage is (re)initializing" for a moment.
      return (await admin.request('GET', `/apis/${group}/${version.name}/${names.plural}`)).status === 200;
    };
    await until('the CRDs to be served', async () => (await Promise.all(crds.map(isServed))).every(Boolean), {
      timeoutMs: READY_TIMEOUT_MS,
    });
  }

  /** Starts one more API server on the same etcd, with an audit log of its own. */
  async startApiServer(): Promise<ApiServer> {
    const [port = 0] = await freePorts(1);
    const name = `kube-apiserver-${this.#apiServers.length}`;
    const sharedFile = (file: string) => join(this.directory, file);
    const directory = sharedFile(name);
    await mkdir(directory);
    const connection = {
      url: `https://127.0.0.1:${port}`,
      ca: this.caCertificate,
      token: this.#tokens.admin,
    };
    const auditLog = join(directory, 'audit.log');
    const apiServer = createApiServer({
      kubeconfig: await writeKubeconfig(join(directory, 'admin.kubeconfig'), connection),
      auditLog,
      log: sharedFile(`${name}.log`),
      connection,
      startChild: () =>
        this.#startChild(name, 'kube-apiserver', [
          `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
          '--bind-address=127.0.0.1',
          `--secure-port=${port}`,
          `--cert-dir=${directory}`,
          `--token-auth-file=${sharedFile('tokens.csv')}`,
          `--tls-cert-file=${sharedFile('tls.crt')}`,
          `--tls-private-key-file=${sharedFile('tls.key')}`,
          '--service-account-issuer=https://kubernetes.default.svc',
          `--service-account-key-file=${sharedFile('tls.key')}`,
          `--service-account-signing-key-file=${sharedFile('tls.key')}`,
          '--authorization-mode=RBAC',
          // It would wait for service accounts that nothing here creates.
          '--disable-admission-plugins=ServiceAccount',
          '--service-cluster-ip-range=10.0.0.0/24',
          // As in OpenShift: the API server calls a webhook by the addresses of its endpoints, not of its Service.
          '--enable-aggregator-routing=true',
          // Two servers on 127.0.0.1 would overwrite each other's endpoint of the kubernetes Service.
          '--endpoint-reconciler-type=none',
          `--audit-policy-file=${sharedFile('audit-policy.json')}`,
          `--audit-log-path=${auditLog}`,
          '--audit-log-mode=blocking',
          '--audit-log-maxsize=4000',
        ]),
    });
    await apiServer.start();
    this.#apiServers.push(apiServer);
    return apiServer;
  }

  /** Compacts etcd at the current revision. A watch from an older revision then gets 410. */
  async compactEtcd(): Promise<void> {
    const status = await this.#callEtcd<{ header: { revision: string } }>('/v3/maintenance/status', {});
    await this.#callEtcd('/v3/kv/compaction', { revision: status.header.revision, physical: true });
  }

  /** Copies the data of etcd, which stops meanwhile. */
  async backUpEtcd(): Promise<void> {
    await this.#etcd?.stop();
    await rm(this.#etcdBackup, { recursive: true, force: true });
    await cp(this.#etcdData, this.#etcdBackup, { recursive: true });
    await this.#startEtcd();
  }

  /** Kills the API servers and etcd. */
  async kill(): Promise<void> {
    await Promise.all(this.#apiServers.map((apiServer) => apiServer.kill()));
    await this.#etcd?.stop('SIGKILL');
  }

  /**
   * Starts etcd from the backup and the API servers again, as when an administrator restores a cluster. Later writes
   * are lost, and the API server assigns their resource versions a second time.
   */
  async restoreEtcd(): Promise<void> {
    await this.kill();
    await rm(this.#etcdData, { recursive: true });
    await cp(this.#etcdBackup, this.#etcdData, { recursive: true });
    await this.#startEtcd();
    await Promise.all(this.#apiServers.map((apiServer) => apiServer.start()));
  }

  /** Ends every process and removes the folder. */
  async stop(): Promise<void> {
    await this.reaper.reap();
  }

  async #startEtcd(): Promise<void> {
    const client = `http://127.0.0.1:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${this.#peerPort}`;
    this.#etcd = this.#startChild('etcd', 'etcd', [
      `--data-dir=${this.#etcdData}`,
      `--listen-client-urls=${client}`,
      // Required by etcd whenever --listen-client-urls is set.
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync',
    ]);
    await this.#etcd.waitUntil(() => isHealthy(`${client}/health`), READY_TIMEOUT_MS);
  }

  async #writeSharedFiles(): Promise<void> {
    const { admin, controllerManager } = this.#tokens;
    // Columns: token, user name, user ID, groups (kubernetes, apiserver/pkg/authentication/token/tokenfile).
    const tokens = [
      `${admin},admin,admin,"system:masters"`,
      `${controllerManager},system:kube-controller-manager,system:kube-controller-manager`,
    ];
    const files = {
      'tls.crt': this.#certificate.certificate,
      'tls.key': this.#certificate.key,
      'tokens.csv': tokens.join('\n'),
      'audit-policy.json': JSON.stringify(AUDIT_POLICY),
    };
    const writes = Object.entries(files).map(([name, text]) =>
      writeFile(join(this.directory, name), text, { mode: 0o600 }),
    );
    await Promise.all(writes);
  }

  async #startGarbageCollector(): Promise<void> {
    const [port = 0] = await freePorts(1);
    const connection = { ...this.apiServer.connection, token: this.#tokens.controllerManager };
    const file = await writeKubeconfig(join(this.directory, 'controller-manager.kubeconfig'), connection);
    const controllerManager = this.#startChild('kube-controller-manager', 'kube-controller-manager', [
      `--kubeconfig=${file}`,
      '--controllers=garbage-collector-controller,namespace-controller',
      // As in a cluster: deletions come from system:serviceaccount:kube-system:generic-garbage-collector.
      '--use-service-account-credentials=true',
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--tls-cert-file=${join(this.directory, 'tls.crt')}`,
      `--tls-private-key-file=${join(this.directory, 'tls.key')}`,
    ]);
    const health = new KubeClient({ url: `https://127.0.0.1:${port}`, ca: this.caCertificate });
    await controllerManager.waitUntil(() => health.isReady('/healthz'), READY_TIMEOUT_MS);
  }

  #startChild(name: string, binary: string, args: readonly string[]): Child {
    const command = join(this.#binaries.directory, binary);
    return new Child({ command, args, logFile: join(this.directory, `${name}.log`), reaper: this.reaper });
  }

  /** Calls the JSON gateway of etcd. */
  async #callEtcd<Answer>(path: string, body: object): Promise<Answer> {
    const url = `http://127.0.0.1:${this.#etcdPort}${path}`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok)
      throw new Error(`etcd answered ${response.status} to ${path}: ${await response.text()}`);
    return (await response.json()) as Answer;
  }
}

/** Kubernetes 1.31 does not know the CEL library `format`, which the preview CRDs of builds use. */
function omitFormatRules(key: unknown, value: unknown): unknown {
  if (key !== 'x-kubernetes-validations') return value;
  return (value as readonly { readonly rule: string }[]).filter(({ rule }) => !rule.includes('format.'));
}

interface CrdSpec {
  readonly group: string;
  readonly names: { readonly plural: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}

interface ApiServerOptions {
  /** The connection of an administrator. */
  readonly connection: KubeClientOptions;
  /** File of a cluster administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** File with one JSON event per line. */
  readonly auditLog: string;
  /** File with the output of the process. */
  readonly log: string;
  readonly startChild: () => Child;
}

export type ApiServer = ReturnType<typeof createApiServer>;

/** One kube-apiserver. It keeps its address through restarts. */
function createApiServer({ startChild, ...options }: ApiServerOptions) {
  const admin = new KubeClient(options.connection);
  let child: Child | undefined;

  /** Returns when `/readyz` returns 200. */
  async function start(): Promise<void> {
    child = startChild();
    await child.waitUntil(() => admin.isReady('/readyz'), READY_TIMEOUT_MS);
  }

  /** Open watches would delay a graceful end for up to a minute, so SIGKILL follows after two seconds. */
  async function stop(): Promise<void> {
    await child?.stop('SIGTERM', 2_000);
  }

  async function kill(): Promise<void> {
    await child?.stop('SIGKILL');
  }

  /** Sends a signal without waiting for its effect. */
  function signal(name: NodeJS.Signals): void {
    child?.kill(name);
  }

  async function restart(): Promise<void> {
    await stop();
    await start();
  }

  return { ...options, url: options.connection.url, admin, start, stop, kill, signal, restart };
}

async function writeKubeconfig(file: string, { url, ca, token = '' }: KubeClientOptions): Promise<string> {
  await writeFile(file, kubeconfig(url, ca, { token }), { mode: 0o600 });
  return file;
}

/** A kubeconfig with one cluster and one user, as JSON, which is valid YAML. */
export function kubeconfig(url: string, ca: string, user: Readonly<Record<string, string>>): string {
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'control-plane', cluster }],
    users: [{ name: 'user', user }],
    contexts: [{ name: 'control-plane', context: { cluster: 'control-plane', user: 'user' } }],
    'current-context': 'control-plane',
  });
}
