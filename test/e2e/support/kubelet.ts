import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { kubeconfig, type ControlPlane } from '../control-plane/control-plane.ts';
import { expectStatus, type KubeObject } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { ownAddress } from './own-address.ts';
import { PATHS } from './paths.ts';
import { Pod, type PodTemplate } from './pod.ts';

const NAMESPACE = 'machineconfig-guard';
const NAME = 'machineconfig-guard';
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${NAME}`;
const SERVICE = `/api/v1/namespaces/${NAMESPACE}/services/${NAME}`;
const ENDPOINTS = `/api/v1/namespaces/${NAMESPACE}/endpoints`;
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
const RECONCILE_MS = 150;

interface DeploymentSpec {
  readonly replicas: number;
  readonly template: PodTemplate;
  readonly strategy: { readonly rollingUpdate: { readonly maxSurge: number; readonly maxUnavailable: number } };
}

interface Published {
  /** By which a restarted pod is known to listen elsewhere. */
  readonly state: string;
  readonly subset: object;
}

interface ServiceSpec {
  readonly ports: readonly { readonly name: string; readonly targetPort: string }[];
}

/**
 * Stands for everything between a Deployment and its endpoints: deployment controller, scheduler, kubelet, endpoint controller.
 * It reads the guard's Deployment and Service from the API server as they were applied, runs the bundle as they say, and writes
 * Endpoints (which the API server asks before Kubernetes 1.34) and EndpointSlices (from then on), through which it finds the
 * webhook behind its Service: as in a cluster, by an address of the machine, never 127.0.0.1.
 */
export class Kubelet {
  readonly #controlPlane: ControlPlane;
  readonly #address = ownAddress();
  readonly #pods: Pod[] = [];
  readonly #published = new Map<Pod, Published>();
  readonly #ending = new Set<Promise<void>>();
  readonly #loop: Promise<void>;
  #stopping = false;
  #paused = false;
  #count = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    this.#loop = this.#run();
  }

  static start(controlPlane: ControlPlane): Kubelet {
    return new Kubelet(controlPlane);
  }

  /** Replicas that are there and not on their way out. */
  get pods(): readonly Pod[] {
    return this.#pods.filter(({ terminating }) => !terminating);
  }

  /** Everything that ever ran, for its logs. */
  readonly history: Pod[] = [];

  /** Waits until the Deployment is what runs: all replicas of its present template, each ready and published. */
  async settled(timeoutMs = 30_000): Promise<void> {
    await until(
      'the Deployment to be rolled out',
      async () => {
        const spec = await this.#deployment();
        if (spec === undefined) return this.#pods.length === 0;
        const wanted = JSON.stringify(spec.template);
        const up = this.pods.filter((pod) => JSON.stringify(pod.template) === wanted && this.#published.has(pod));
        return up.length === spec.replicas && this.#pods.length === spec.replicas;
      },
      { timeoutMs },
    );
  }

  /** Looks away: nothing is started, ended or published until {@link resume}. For a node that is lost. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
  }

  /** Ends the pods too. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#loop;
    await Promise.all(this.#pods.map((pod) => (pod.signal('SIGCONT'), pod.terminate())));
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      // The API server may be away for a while; what runs goes on running.
      if (!this.#paused) await this.#reconcile().catch(() => undefined);
      await pause(RECONCILE_MS);
    }
    await Promise.all(this.#ending);
  }

  async #reconcile(): Promise<void> {
    const spec = await this.#deployment();
    const wanted = JSON.stringify(spec?.template);
    await this.#publish();
    const isNew = (pod: Pod) => JSON.stringify(pod.template) === wanted;
    const ready = (pod: Pod) => this.#published.has(pod);
    const replicas = spec?.replicas ?? 0;
    const { maxSurge = 0, maxUnavailable = 0 } = spec?.strategy.rollingUpdate ?? {};
    // New ones, within the surge.
    const missing = replicas - this.pods.filter(isNew).length;
    const room = replicas + maxSurge - this.#pods.length;
    if (spec !== undefined) for (const _ of Array(Math.max(0, Math.min(missing, room)))) this.#create(spec);
    // Old ones, as many as may be unavailable; those that are not ready first, they serve nobody.
    const old = this.pods.filter((pod) => !isNew(pod)).sort((a, b) => Number(ready(a)) - Number(ready(b)));
    for (const pod of old) {
      const available = this.pods.filter(ready).length - (ready(pod) ? 1 : 0);
      if (!ready(pod) || available >= replicas - maxUnavailable) this.#end(pod);
    }
    const surplus = this.pods.filter(isNew).slice(replicas);
    for (const pod of surplus) this.#end(pod);
    for (const pod of this.pods) await this.#keepRunning(pod);
  }

  #create({ template }: DeploymentSpec): void {
    const name = `${NAME}-${(this.#count += 1)}`;
    const { leash } = this.#controlPlane;
    const directory = join(this.#controlPlane.directory, 'pods', name);
    const pod = new Pod({ name, template, directory, kubeconfig: join(directory, 'kubeconfig'), leash });
    this.#pods.push(pod);
    this.history.push(pod);
  }

  #end(pod: Pod): void {
    const ended = this.#withdrawAndTerminate(pod);
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  /** Both at once, as in a cluster: the endpoint goes while the pod is told to end. */
  async #withdrawAndTerminate(pod: Pod): Promise<void> {
    await Promise.all([this.#withdraw(pod).catch(() => undefined), pod.terminate()]);
    this.#pods.splice(this.#pods.indexOf(pod), 1);
  }

  /** Volumes up to date, the container running. A volume whose Secret is missing keeps the pod waiting, as in a cluster. */
  async #keepRunning(pod: Pod): Promise<void> {
    if (!pod.started) await this.#writeKubeconfig(pod);
    for (const { name, secret } of pod.template.spec.volumes ?? []) {
      const path = `/api/v1/namespaces/${NAMESPACE}/secrets/${secret.secretName}`;
      const found: SecretObject | undefined = await this.#controlPlane.apiServer.admin.find(path);
      if (found !== undefined) {
        const files = Object.entries(found.data ?? {}).map(([file, value]) => [file, Buffer.from(value, 'base64')]);
        await pod.writeVolume(name, found.metadata.resourceVersion ?? '', Object.fromEntries(files));
      } else if (!pod.started) {
        return;
      }
    }
    if (!pod.running) await pod.start();
  }

  async #publish(): Promise<void> {
    for (const pod of this.pods) {
      const isReady = await pod.isReady();
      if (isReady && pod.ports !== undefined) await this.#announce(pod, pod.ports);
      else if (this.#published.has(pod)) await this.#withdraw(pod);
    }
  }

  async #announce(pod: Pod, ports: { readonly securePort: number; readonly metricsPort: number }): Promise<void> {
    const state = JSON.stringify(ports);
    if (this.#published.get(pod)?.state === state) return;
    await this.#withdraw(pod);
    const numbers: Readonly<Record<string, number>> = { webhook: ports.securePort, metrics: ports.metricsPort };
    const { admin } = this.#controlPlane.apiServer;
    const service = (await admin.find(SERVICE))?.spec as ServiceSpec | undefined;
    if (service === undefined) return;
    const named = service.ports.map(({ name, targetPort }) => ({ name, protocol: 'TCP', port: numbers[targetPort] }));
    await admin.create(SLICES, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: pod.name, labels: { 'kubernetes.io/service-name': NAME } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [this.#address], conditions: { ready: true, serving: true, terminating: false } }],
      ports: named,
    });
    this.#published.set(pod, { state, subset: { addresses: [{ ip: this.#address }], ports: named } });
    await this.#writeEndpoints();
  }

  async #withdraw(pod: Pod): Promise<void> {
    if (!this.#published.delete(pod)) return;
    await this.#writeEndpoints();
    const response = await this.#controlPlane.apiServer.admin.delete(`${SLICES}/${pod.name}`);
    expectStatus(response, [200, 404], `DELETE ${pod.name}`);
  }

  /** One object for all of them, each in a subset of its own because their ports differ. One write after the other. */
  #writeEndpoints(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      const { admin } = this.#controlPlane.apiServer;
      const subsets = [...this.#published.values()].map(({ subset }) => subset);
      const endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: NAME }, subsets };
      const response = await admin.request('PUT', `${ENDPOINTS}/${NAME}`, endpoints).catch(() => undefined);
      if (response?.status === 404) await admin.request('POST', ENDPOINTS, endpoints).catch(() => undefined);
    });
    return this.#writing;
  }

  async #deployment(): Promise<DeploymentSpec | undefined> {
    const deployment: KubeObject | undefined = await this.#controlPlane.apiServer.admin.find(DEPLOYMENT);
    if (deployment?.metadata.deletionTimestamp !== undefined) return undefined;
    return deployment?.spec as DeploymentSpec | undefined;
  }

  /** Credentials such as a pod gets for its service account: each its own, because one that was made again has other tokens. */
  async #writeKubeconfig(pod: Pod): Promise<void> {
    const { admin, url } = this.#controlPlane.apiServer;
    const path = `${PATHS.namespaces}/${NAMESPACE}/serviceaccounts/${NAME}/token`;
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 7_200 },
    };
    const { status } = (await admin.create(path, request)) as { status?: { token?: string } };
    await mkdir(pod.directory, { recursive: true });
    const text = kubeconfig(url, this.#controlPlane.caCertificate, { token: status?.token ?? '' });
    await writeFile(pod.kubeconfig, text, { mode: 0o600 });
  }
}

type SecretObject = KubeObject & { readonly data?: Readonly<Record<string, string>> };
