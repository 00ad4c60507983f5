import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parse } from 'yaml';

import { answersOk } from './answers-ok.ts';
import { until } from './until.ts';
import type { Binaries } from './binaries.ts';
import { newKey, ThrowawayAuthority, type KeyAndCertificate } from './certificates.ts';
import { Child } from './child.ts';
import { freePorts } from './free-ports.ts';
import { KubeClient, type KubeClientOptions, type KubeObject } from './kube-client.ts';
import { Leash } from './leash.ts';
import { crdDirectory, type Release } from './releases.ts';

const READY_TIMEOUT_MS = 60_000;

/**
 * Every request at level Metadata, as OpenShift's default audit profile has it; watches that never end and
 * the control plane's own leases would only make the file long.
 */
const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [
    { level: 'None', resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }] },
    { level: 'None', nonResourceURLs: ['/readyz*', '/healthz*', '/livez*', '/openapi*', '/api', '/api/*', '/apis*'] },
    { level: 'Metadata' },
  ],
};

/** etcd, kube-apiserver and the garbage collector on this machine, with the OpenShift CRDs of their release. */
export class ControlPlane {
  readonly release: Release;
  /** Removed at the end, with everything in it: etcd's data, certificates, kubeconfigs, logs. */
  readonly directory: string;
  readonly leash: Leash;
  readonly #binaries: Binaries;
  readonly #authority = new ThrowawayAuthority();
  readonly #etcdPort: number;
  readonly #peerPort: number;
  #etcdProcess: Child | undefined;
  readonly #apiServers: ApiServer[] = [];

  private constructor(binaries: Binaries, directory: string, etcdPort: number, peerPort: number) {
    this.#binaries = binaries;
    this.release = binaries.release;
    this.directory = directory;
    this.leash = new Leash(directory);
    this.#etcdPort = etcdPort;
    this.#peerPort = peerPort;
  }

  /** Ready to use when it returns: about 4 s. `openshift: false` leaves it without OpenShift's CRDs and the garbage collector. */
  static async start(binaries: Binaries, { openshift = true } = {}): Promise<ControlPlane> {
    const directory = await mkdtemp(join(tmpdir(), 'mcg-control-plane-'));
    const [etcdPort = 0, peerPort = 0] = await freePorts(2);
    const controlPlane = new ControlPlane(binaries, directory, etcdPort, peerPort);
    try {
      await controlPlane.#startEtcd();
      await controlPlane.#writeSharedFiles();
      await controlPlane.startApiServer();
      if (openshift) await controlPlane.installOpenShift();
    } catch (error) {
      await controlPlane.stop();
      throw error;
    }
    return controlPlane;
  }

  /** The API server that was there first. */
  get apiServer(): ApiServer {
    const [first] = this.#apiServers;
    if (first === undefined) throw new Error('The control plane has no API server yet.');
    return first;
  }

  /** PEM of the authority that signed every API server's certificate. */
  get caCertificate(): string {
    return this.#authority.certificate;
  }

  /** File of the kubectl of this release. */
  get kubectl(): string {
    return this.#binaries.kubectl;
  }

  get #etcdData(): string {
    return join(this.directory, 'etcd');
  }

  get #etcdBackup(): string {
    return join(this.directory, 'etcd-backup');
  }

  /** What OpenShift brings along and Kubernetes has not. */
  async installOpenShift(): Promise<void> {
    await this.#installCrds();
    // Last: the garbage collector looks for new kinds only every 30 s, so the CRDs have to be there before it.
    await this.#startGarbageCollector();
  }

  /** One more API server on the same etcd, with an audit log of its own. */
  async startApiServer(): Promise<ApiServer> {
    const [port = 0] = await freePorts(1);
    const name = `kube-apiserver-${this.#apiServers.length}`;
    const directory = join(this.directory, name);
    await mkdir(directory);
    const files = await this.#writeKeyPair(directory, 'tls', this.#authority.server());
    const admin = this.#authority.client('admin', 'system:masters');
    const url = `https://127.0.0.1:${port}`;
    const kubeconfig = join(directory, 'admin.kubeconfig');
    await writeFile(kubeconfig, clientKubeconfig(url, this.caCertificate, admin), { mode: 0o600 });
    const auditLog = join(directory, 'audit.log');
    const shared = (name: string) => join(this.directory, name);
    const apiServer = new ApiServer({
      kubeconfig,
      auditLog,
      log: join(this.directory, `${name}.log`),
      connection: { url, ca: this.caCertificate, ...admin },
      start: () =>
        this.#child(name, 'kube-apiserver', [
          `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
          '--bind-address=127.0.0.1',
          `--secure-port=${port}`,
          `--cert-dir=${directory}`,
          `--client-ca-file=${shared('ca.crt')}`,
          `--tls-cert-file=${files.certificate}`,
          `--tls-private-key-file=${files.key}`,
          '--service-account-issuer=https://kubernetes.default.svc',
          `--service-account-key-file=${shared('service-account.pub')}`,
          `--service-account-signing-key-file=${shared('service-account.key')}`,
          '--authorization-mode=RBAC',
          // Nothing here creates the service accounts that it would wait for.
          '--disable-admission-plugins=ServiceAccount',
          '--service-cluster-ip-range=10.0.0.0/24',
          // As OpenShift sets it: the backends of a webhook's Service are dialled by their own addresses, not by the Service's.
          '--enable-aggregator-routing=true',
          // Two servers on 127.0.0.1 would fight over the endpoint of the kubernetes Service.
          '--endpoint-reconciler-type=none',
          `--audit-policy-file=${shared('audit-policy.json')}`,
          `--audit-log-path=${auditLog}`,
          '--audit-log-mode=blocking',
          '--audit-log-maxsize=4000',
        ]),
    });
    await apiServer.start();
    this.#apiServers.push(apiServer);
    return apiServer;
  }

  /** Makes etcd forget every revision before the present one, so that a watch from an older one gets 410. */
  async compactEtcd(): Promise<void> {
    const status = await this.#etcd<{ header: { revision: string } }>('/v3/maintenance/status', {});
    await this.#etcd('/v3/kv/compaction', { revision: status.header.revision, physical: true });
  }

  /** Copies what etcd holds; it is stopped meanwhile. */
  async backUpEtcd(): Promise<void> {
    await this.#etcdProcess?.stop();
    await rm(this.#etcdBackup, { recursive: true, force: true });
    await cp(this.#etcdData, this.#etcdBackup, { recursive: true });
    await this.#startEtcd();
  }

  /** Ends API servers and etcd at once. */
  async kill(): Promise<void> {
    await Promise.all(this.#apiServers.map((apiServer) => apiServer.kill()));
    await this.#etcdProcess?.stop('SIGKILL');
  }

  /**
   * Starts them again from the copy, as an administrator restores a cluster: all that was written since is gone, and its versions will be
   * given a second time. Returns when the API servers are ready.
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
    for (const apiServer of this.#apiServers) apiServer.admin.close();
    await this.leash.end();
  }

  async #startEtcd(): Promise<void> {
    const client = `http://127.0.0.1:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${this.#peerPort}`;
    const etcd = this.#child('etcd', 'etcd', [
      `--data-dir=${this.#etcdData}`,
      `--listen-client-urls=${client}`,
      // Without it etcd prints a warning and ends.
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync',
    ]);
    this.#etcdProcess = etcd;
    await etcd.until(() => answersOk(`${client}/health`), READY_TIMEOUT_MS);
  }

  async #writeSharedFiles(): Promise<void> {
    const { key, publicKey } = newKey();
    await Promise.all([
      writeFile(join(this.directory, 'ca.crt'), this.caCertificate),
      writeFile(join(this.directory, 'service-account.key'), key, { mode: 0o600 }),
      writeFile(join(this.directory, 'service-account.pub'), publicKey),
      writeFile(join(this.directory, 'audit-policy.json'), JSON.stringify(AUDIT_POLICY)),
    ]);
  }

  async #installCrds(): Promise<void> {
    const { admin } = this.apiServer;
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const directory = crdDirectory(this.release);
    const files = (await readdir(directory)).filter((file) => file.endsWith('.yaml'));
    const crds = await Promise.all(
      files.map(async (file) => parse(await readFile(join(directory, file), 'utf8')) as KubeObject),
    );
    await Promise.all(crds.map((crd) => admin.create(path, crd)));
    const isServed = async (crd: KubeObject) => {
      const { group, names, versions } = crd.spec as CrdSpec;
      const version = versions.find((one) => one.served);
      if (version === undefined) return true;
      // A CRD may be Established and still answer 429 "storage is (re)initializing" for a moment.
      return (await admin.request('GET', `/apis/${group}/${version.name}/${names.plural}`)).status === 200;
    };
    await until(
      `the CRDs of OpenShift ${this.release.openshift} to be served`,
      async () => (await Promise.all(crds.map(isServed))).every(Boolean),
      { timeoutMs: READY_TIMEOUT_MS },
    );
  }

  async #startGarbageCollector(): Promise<void> {
    const [port = 0] = await freePorts(1);
    const kubeconfig = join(this.directory, 'controller-manager.kubeconfig');
    const identity = this.#authority.client('system:kube-controller-manager');
    await writeFile(kubeconfig, clientKubeconfig(this.apiServer.url, this.caCertificate, identity), { mode: 0o600 });
    const files = await this.#writeKeyPair(this.directory, 'controller-manager', this.#authority.server());
    const controllerManager = this.#child('kube-controller-manager', 'kube-controller-manager', [
      `--kubeconfig=${kubeconfig}`,
      '--controllers=garbage-collector-controller,namespace-controller',
      // So that deletions come from system:serviceaccount:kube-system:generic-garbage-collector, as in a cluster.
      '--use-service-account-credentials=true',
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--tls-cert-file=${files.certificate}`,
      `--tls-private-key-file=${files.key}`,
    ]);
    const health = new KubeClient({ url: `https://127.0.0.1:${port}`, ca: this.caCertificate });
    try {
      await controllerManager.until(() => health.isReady('/healthz'), READY_TIMEOUT_MS);
    } finally {
      health.close();
    }
  }

  #child(name: string, binary: string, args: readonly string[]): Child {
    return new Child({
      command: join(this.#binaries.directory, binary),
      args,
      logFile: join(this.directory, `${name}.log`),
      leash: this.leash,
    });
  }

  async #writeKeyPair(directory: string, name: string, pair: KeyAndCertificate): Promise<KeyAndCertificate> {
    const files = { key: join(directory, `${name}.key`), certificate: join(directory, `${name}.crt`) };
    await writeFile(files.key, pair.key, { mode: 0o600 });
    await writeFile(files.certificate, pair.certificate);
    return files;
  }

  /** A call of etcd's own JSON gateway. */
  async #etcd<Answer>(path: string, body: object): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.#etcdPort}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`etcd answered ${response.status} to ${path}: ${await response.text()}`);
    return (await response.json()) as Answer;
  }
}

interface CrdSpec {
  readonly group: string;
  readonly names: { readonly plural: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}

interface ApiServerParts {
  readonly connection: KubeClientOptions;
  readonly kubeconfig: string;
  readonly auditLog: string;
  readonly log: string;
  readonly start: () => Child;
}

/** One kube-apiserver, at the same address through all its restarts. */
export class ApiServer {
  readonly url: string;
  /** File of a kubeconfig of a cluster administrator. */
  readonly kubeconfig: string;
  /** File with one JSON event a line. */
  readonly auditLog: string;
  /** File with everything that it said itself. */
  readonly log: string;
  /** How an administrator connects to it. */
  readonly connection: KubeClientOptions;
  readonly admin: KubeClient;
  readonly #start: () => Child;
  #child: Child | undefined;

  constructor(parts: ApiServerParts) {
    this.url = parts.connection.url;
    this.kubeconfig = parts.kubeconfig;
    this.auditLog = parts.auditLog;
    this.log = parts.log;
    this.connection = parts.connection;
    this.admin = new KubeClient(parts.connection);
    this.#start = parts.start;
  }

  /** Returns once `/readyz` says so. */
  async start(): Promise<void> {
    this.#child = this.#start();
    await this.#child.until(() => this.admin.isReady('/readyz'), READY_TIMEOUT_MS);
  }

  /** Its watches would keep a graceful end waiting for up to a minute: after two seconds it is killed. */
  async stop(): Promise<void> {
    await this.#child?.stop('SIGTERM', 2_000);
  }

  /** Without a word to its clients. */
  async kill(): Promise<void> {
    await this.#child?.stop('SIGKILL');
  }

  /** Sends a signal and waits for nothing. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }
}

function clientKubeconfig(url: string, ca: string, identity: KeyAndCertificate): string {
  return kubeconfig(url, ca, {
    'client-certificate-data': Buffer.from(identity.certificate).toString('base64'),
    'client-key-data': Buffer.from(identity.key).toString('base64'),
  });
}

/** A kubeconfig with one cluster and one user (JSON, which is YAML too). */
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
