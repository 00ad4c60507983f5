import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeApi } from '../../../src/kube/api.ts';
import { buildKubeconfig, connectionFromKubeconfig } from '../../support/kubeconfig.ts';
import { testTls } from '../../support/tls.ts';
import { ApiServer } from './api-server.ts';
import type { Binaries } from './binaries.ts';
import { Child, type ChildOptions } from './child.ts';
import { Etcd } from './etcd.ts';
import { freePorts } from './free-ports.ts';
import { KubeClient, type KubeObject } from './kube-client.ts';
import { readCrds } from './module-files.ts';
import { ProcessReaper } from './process-reaper.ts';
import { minorOf } from './releases.ts';
import { until } from './until.ts';

/** PEM: the certificate of the servers, its key, and the authority that clients must trust. */
type ServerTls = Readonly<Record<'ca' | 'certificatePem' | 'privateKeyPem', string>>;

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** The first address of the Services, which pods use for the API server. */
const KUBERNETES_SERVICE = '10.0.0.1';

/** etcd, kube-apiserver and a few controllers, with the OpenShift CRDs of their release. */
export class ControlPlane {
  /** Holds etcd's data, certificates, kubeconfigs and logs. Removed at the end. */
  readonly directory = mkdtempSync(join(tmpdir(), 'mcg-control-plane-'));
  readonly reaper = new ProcessReaper(this.directory);
  readonly binaries: Binaries;
  readonly #tls: ServerTls;
  readonly #tokens = { admin: randomUUID(), controllerManager: randomUUID() };
  readonly etcd: Etcd;
  readonly #nodeGateway: string | undefined;
  readonly #apiServers: ApiServer[] = [];

  private constructor(binaries: Binaries, tls: ServerTls, ports: readonly number[], nodeGateway: string | undefined) {
    this.binaries = binaries;
    this.#tls = tls;
    this.#nodeGateway = nodeGateway;
    this.etcd = new Etcd(this.directory, ports, (args) => this.startChild('etcd', this.#program('etcd'), args));
  }

  /**
   * Starts a control plane in about 4 s and returns when it is ready.
   * @param nodeGateway the address of this machine at which real nodes and their pods reach the API server. All
   *   controllers run then.
   */
  static async start(binaries: Binaries, nodeGateway?: string) {
    const addresses = nodeGateway === undefined ? [] : [nodeGateway, KUBERNETES_SERVICE];
    const { ca, leaf } = await testTls();
    const tls = { ca, ...(await leaf(addresses)) };
    const controlPlane = new ControlPlane(binaries, tls, await freePorts(2), nodeGateway);
    try {
      await Promise.all([controlPlane.etcd.start(), controlPlane.#writeSharedFiles()]);
      await controlPlane.startApiServer();
      await controlPlane.installProjects(binaries.openshiftProject);
      // Last, because the garbage collector looks for new kinds only every 30 s.
      await controlPlane.#startControllers();
      const { admin } = controlPlane.apiServer;
      // The API server creates it a moment after it is ready.
      await until('the namespace default', () => admin.find('/api/v1/namespaces/default'));
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

  /** A client of the guard's program, of an administrator or with this token. */
  connectApi(token: string = this.#tokens.admin, userAgent?: string) {
    return new KubeApi(connectionFromKubeconfig(buildKubeconfig(this.apiServer.url, { token }, this.#tls)), userAgent);
  }

  /** Creates the CRDs of these projects in crds.yaml, and returns when the API server serves their kinds. */
  async installProjects(...projects: readonly string[]) {
    const crds = (await Promise.all(projects.map(readCrds))).flat();
    const { admin } = this.apiServer;
    await Promise.all(crds.map((crd) => admin.create(CRDS, crd)));
    const isServed = async (crd: KubeObject) => {
      const { group, names, versions } = crd.spec as CrdSpec;
      const version = versions.find(({ served }) => served);
      if (version === undefined) return true;
      // An Established CRD can still return 429 "storage is (re)initializing" for a moment.
      return (await admin.request('GET', `/apis/${group}/${version.name}/${names.plural}`)).status === 200;
    };
    for (const crd of crds) {
      await until(crd.metadata.name, () => isServed(crd));
    }
  }

  /**
   * Starts one more API server on the same etcd, with an audit log of its own.
   * @param etcdUrl where it reaches etcd
   */
  async startApiServer(etcdUrl = this.etcd.url) {
    const [port = 0] = await freePorts(1);
    const name = `kube-apiserver-${this.#apiServers.length}`;
    const directory = join(this.directory, name);
    await mkdir(directory);
    const url = `https://127.0.0.1:${port}`;
    const connection = { url, ca: this.#tls.ca, token: this.#tokens.admin };
    await this.writeKubeconfig(`${name}/admin`, {}, url);
    const key = join(this.directory, 'tls.key');
    const args = [
      `--etcd-servers=${etcdUrl}`,
      ...this.#serveOn(port),
      `--cert-dir=${directory}`,
      `--token-auth-file=${join(this.directory, 'tokens.csv')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      // As in OpenShift: the API server calls a webhook by the addresses of its endpoints, not of its
      // Service.
      '--enable-aggregator-routing=true',
      // OpenShift enables it.
      '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
      ...this.#nodeFlags(),
      `--audit-policy-file=${join(import.meta.dirname, 'audit-policy.yaml')}`,
      `--audit-log-path=${join(directory, 'audit.log')}`,
      '--audit-log-mode=blocking',
      '--audit-log-maxsize=4000',
    ];
    const startChild = () => this.startChild(name, this.#program('kube-apiserver'), args);
    const apiServer = new ApiServer(connection, directory, startChild);
    await apiServer.start();
    this.#apiServers.push(apiServer);
    return apiServer;
  }

  #nodeFlags() {
    if (this.#nodeGateway !== undefined) {
      return [
        '--allow-privileged=true',
        '--authorization-mode=Node,RBAC',
        `--advertise-address=${this.#nodeGateway}`,
        // The endpoints of the kubernetes Service have one port for each address.
        ...(this.#apiServers.length > 0 ? ['--endpoint-reconciler-type=none'] : []),
        // The loopback address stays the address of the clients on this machine.
        '--bind-address=0.0.0.0',
        '--kubelet-preferred-address-types=InternalIP',
      ];
    }
    return [
      '--authorization-mode=RBAC',
      // It would wait for service accounts that nothing here creates.
      '--disable-admission-plugins=ServiceAccount',
      // Two servers on 127.0.0.1 would overwrite each other's endpoint of the kubernetes Service.
      '--endpoint-reconciler-type=none',
    ];
  }

  /** Kills the API servers and etcd. */
  async kill() {
    await Promise.all(this.#apiServers.map((apiServer) => apiServer.kill()));
    await this.etcd.stop('SIGKILL');
  }

  /**
   * Starts etcd from the backup and the API servers again. Later writes are lost, and the API server assigns
   * their resource versions a second time.
   */
  async restoreEtcd() {
    await this.kill();
    await this.etcd.restore();
    await Promise.all(this.#apiServers.map((apiServer) => apiServer.start()));
  }

  /** Ends every process and removes the folder. */
  async stop() {
    await this.reaper.reap();
  }

  async #writeSharedFiles() {
    // Columns: token, user name, user ID, groups (kubernetes, apiserver/pkg/authentication/token/tokenfile).
    const tokens = [
      `${this.#tokens.admin},admin,admin,"system:masters"`,
      `${this.#tokens.controllerManager},system:kube-controller-manager,system:kube-controller-manager`,
    ];
    await this.#writeFile('ca.crt', this.#tls.ca);
    await this.#writeFile('tls.crt', this.#tls.certificatePem);
    await this.#writeFile('tls.key', this.#tls.privateKeyPem);
    await this.#writeFile('tokens.csv', tokens.join('\n'));
  }

  /** Starts the controllers of garbage, Jobs and namespaces, or all of them for real nodes. */
  async #startControllers() {
    const [port = 0] = await freePorts(1);
    const name = 'kube-controller-manager';
    const hasLongNames = minorOf(this.binaries.release.kubernetes) >= 28;
    const controllers = hasLongNames
      ? 'garbage-collector-controller,job-controller,namespace-controller'
      : 'garbagecollector,job,namespace';
    const controllerManager = this.startChild(name, this.#program(name), [
      `--kubeconfig=${await this.writeKubeconfig(name, { token: this.#tokens.controllerManager })}`,
      ...(this.#nodeGateway === undefined
        ? [`--controllers=${controllers}`]
        : [
            `--root-ca-file=${join(this.directory, 'ca.crt')}`,
            `--service-account-private-key-file=${join(this.directory, 'tls.key')}`,
          ]),
      // As in a cluster: deletions come from system:serviceaccount:kube-system:generic-garbage-collector.
      '--use-service-account-credentials=true',
      '--leader-elect=false',
      ...this.#serveOn(port),
    ]);
    const health = new KubeClient({ url: `https://127.0.0.1:${port}`, ca: this.#tls.ca });
    await controllerManager.waitUntil(() => health.isReady('/healthz'));
  }

  #serveOn(port: number) {
    return [
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--tls-cert-file=${join(this.directory, 'tls.crt')}`,
      `--tls-private-key-file=${join(this.directory, 'tls.key')}`,
    ];
  }

  async #writeFile(name: string, text: string) {
    const file = join(this.directory, name);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  }

  /** Starts a process that logs to a file of its name, and ends with this control plane at the latest. */
  startChild(name: string, command: string, args: readonly string[], options: Pick<ChildOptions, 'cwd' | 'env'> = {}) {
    return new Child({ ...options, command, args, logFile: join(this.directory, `${name}.log`), reaper: this.reaper });
  }

  /** Writes a kubeconfig of an administrator, or of this user, and returns its file. */
  async writeKubeconfig(name: string, user: object = {}, url = this.apiServer.url) {
    const text = buildKubeconfig(url, { token: this.#tokens.admin, ...user }, this.#tls);
    return this.#writeFile(`${name}.kubeconfig`, text);
  }

  #program(name: string) {
    return join(this.binaries.directory, name);
  }
}

interface CrdSpec {
  readonly group: string;
  readonly names: { readonly plural: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}
