import { mkdir, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';

import { kubeconfig, type ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { minorOf } from '../control-plane/releases.ts';
import { pause, until } from '../control-plane/until.ts';
import { PATHS } from './paths.ts';
import { Pod, type PodTemplate } from './pod.ts';
import { serviceAccountToken } from './service-account.ts';

const NAMESPACE = 'machineconfig-guard';
const NAME = 'machineconfig-guard';
const SERVICE = `${PATHS.guardNamespace}/services/${NAME}`;
const ENDPOINTS = `${PATHS.guardNamespace}/endpoints`;
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/machineconfig-guard/endpointslices';
const RECONCILE_INTERVAL_MS = 150;

interface DeploymentSpec {
  readonly replicas: number;
  readonly template: PodTemplate;
  readonly strategy: {
    readonly rollingUpdate: { readonly maxSurge: number; readonly maxUnavailable: number };
  };
}

interface Deployment extends KubeObject {
  readonly spec: DeploymentSpec;
  readonly status?: { readonly readyReplicas?: number };
}

interface ServiceSpec {
  readonly ports: readonly { readonly name: string; readonly targetPort: string }[];
}

interface Subset {
  readonly addresses: readonly { readonly ip: string }[];
  readonly ports: readonly { readonly name: string; readonly port: number | undefined }[];
}

type WithData = KubeObject & { readonly data?: Readonly<Record<string, string>> };
type Volume = NonNullable<PodTemplate['spec']['volumes']>[number];

/**
 * Replaces deployment controller, scheduler, kubelet and endpoint controllers: it runs the guard's Deployment, counts
 * the ready pods in its status and publishes them as Endpoints, from Kubernetes 1.34 on also as EndpointSlices, which
 * API servers then read.
 */
export class Kubelet {
  readonly #controlPlane: ControlPlane;
  readonly #address = findOwnAddress();
  readonly #pods: Pod[] = [];
  readonly #loop: Promise<void>;
  #isStopping = false;
  #count = 0;
  /** The pods in the Endpoints, and their addresses there. */
  #ready: readonly Pod[] = [];
  #subsets = '';
  #sliceCount = 0;
  /** Every pod so far. */
  readonly history: Pod[] = [];

  constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    this.#loop = this.#run();
  }

  /** The pods that are not terminating. */
  get pods() {
    return this.#pods.filter(({ isTerminating }) => !isTerminating);
  }

  /** Waits until only the replicas of the current template run, and all are published. */
  async awaitRollout(timeoutMs = 60_000) {
    const isRolledOut = async () => {
      const spec = (await this.#findDeployment())?.spec;
      if (spec === undefined) return this.#pods.length === 0;
      const template = JSON.stringify(spec.template);
      const ready = this.#ready.filter((pod) => JSON.stringify(pod.template) === template);
      return ready.length === spec.replicas && this.#pods.length === spec.replicas;
    };
    await until('the Deployment to be rolled out', isRolledOut, { timeoutMs });
  }

  /** Ends the pods, too. */
  async stop() {
    this.#isStopping = true;
    await this.#loop;
    for (const pod of this.#pods) pod.signal('SIGCONT');
    await Promise.all(this.#pods.map((pod) => pod.terminate()));
  }

  get #admin() {
    return this.#controlPlane.apiServer.admin;
  }

  async #run() {
    while (!this.#isStopping) {
      // The API server may be unreachable for a while. Running pods go on.
      await this.#reconcile().catch(() => undefined);
      await pause(RECONCILE_INTERVAL_MS);
    }
  }

  async #reconcile() {
    const deployment = await this.#findDeployment();
    const spec = deployment?.spec;
    const template = JSON.stringify(spec?.template);
    const isCurrent = (pod: Pod) => JSON.stringify(pod.template) === template;
    const isReady = (pod: Pod) => this.#ready.includes(pod);
    const replicas = spec?.replicas ?? 0;
    const { maxSurge = 0, maxUnavailable = 0 } = spec?.strategy.rollingUpdate ?? {};
    const missing = replicas - this.pods.filter(isCurrent).length;
    const allowed = replicas + maxSurge - this.#pods.length;
    if (spec !== undefined)
      for (const _ of Array(Math.max(0, Math.min(missing, allowed)))) this.#createPod(spec);
    // Unready pods first, because they get no calls.
    const outdated = this.pods
      .filter((pod) => !isCurrent(pod))
      .sort((a, b) => Number(isReady(a)) - Number(isReady(b)));
    for (const pod of outdated) {
      const available = this.pods.filter(isReady).length - (isReady(pod) ? 1 : 0);
      if (!isReady(pod) || available >= replicas - maxUnavailable) void this.#terminate(pod);
    }
    const surplus = this.pods.filter(isCurrent).slice(replicas);
    for (const pod of surplus) void this.#terminate(pod);
    // Endpoints go while the pods shut down, as in a cluster.
    await this.#publishReadyPods();
    if (deployment !== undefined) await this.#writeDeploymentStatus(deployment);
    for (const pod of this.pods) await this.#keepRunning(pod);
  }

  #createPod({ template }: DeploymentSpec) {
    const name = `${NAME}-${(this.#count += 1)}`;
    const { directory, reaper } = this.#controlPlane;
    const pod = new Pod(name, template, join(directory, 'pods', name), reaper);
    this.#pods.push(pod);
    this.history.push(pod);
  }

  async #terminate(pod: Pod) {
    await pod.terminate();
    this.#pods.splice(this.#pods.indexOf(pod), 1);
  }

  /** Updates the volumes and restarts an ended container. A pod without one of them does not start. */
  async #keepRunning(pod: Pod) {
    if (!pod.isStarted) await this.#writeKubeconfig(pod);
    for (const volume of pod.template.spec.volumes ?? []) {
      const content = await this.#readVolume(volume);
      if (content !== undefined) {
        await pod.writeVolume(volume.name, content.version, content.data);
      } else if (!pod.isStarted) {
        return;
      }
    }
    if (!pod.isRunning) await pod.start();
  }

  /** Returns the data of the volume's Secret or ConfigMap in base64. */
  async #readVolume({ secret, configMap }: Volume) {
    const path = secret === undefined ? `configmaps/${configMap?.name}` : `secrets/${secret.secretName}`;
    const found: WithData | undefined = await this.#admin.find(`${PATHS.guardNamespace}/${path}`);
    if (found === undefined) return undefined;
    const { data = {}, metadata } = found;
    const encode = (text: string) => (secret === undefined ? Buffer.from(text).toString('base64') : text);
    return {
      version: metadata.resourceVersion ?? '',
      data: Object.fromEntries(Object.entries(data).map(([file, text]) => [file, encode(text)])),
    };
  }

  /** Writes one Endpoints object with a subset for each pod, because their ports differ. */
  async #publishReadyPods() {
    const ready: Pod[] = [];
    for (const pod of this.pods) if (await pod.isReady()) ready.push(pod);
    const service = (await this.#admin.find(SERVICE))?.spec as ServiceSpec | undefined;
    if (service === undefined) return;
    const subsets: readonly Subset[] = ready.map(({ ports }) => ({
      addresses: [{ ip: this.#address }],
      ports: service.ports.map(({ name, targetPort }) => {
        return { name, port: targetPort === 'metrics' ? ports?.metricsPort : ports?.securePort };
      }),
    }));
    if (JSON.stringify(subsets) !== this.#subsets) {
      if (this.#hasSlices) await this.#publishSlices(subsets);
      const endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: NAME }, subsets };
      const { status } = await this.#admin.request('PUT', `${ENDPOINTS}/${NAME}`, endpoints);
      if (status === 404) await this.#admin.request('POST', ENDPOINTS, endpoints);
      this.#subsets = JSON.stringify(subsets);
    }
    this.#ready = ready;
  }

  get #hasSlices() {
    return minorOf(this.#controlPlane.release.kubernetes) >= 34;
  }

  /** Writes one slice for each pod and empties those of former pods. */
  async #publishSlices(subsets: readonly Subset[]) {
    this.#sliceCount = Math.max(this.#sliceCount, subsets.length);
    for (let index = 0; index < this.#sliceCount; index += 1) {
      const { addresses = [], ports = [] } = subsets[index] ?? {};
      const name = `${NAME}-${index}`;
      const slice = {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name, labels: { 'kubernetes.io/service-name': NAME } },
        addressType: 'IPv4',
        endpoints: addresses.map(({ ip }) => ({ addresses: [ip], conditions: { ready: true } })),
        ports,
      };
      const { status } = await this.#admin.request('PUT', `${SLICES}/${name}`, slice);
      if (status === 404) await this.#admin.request('POST', SLICES, slice);
    }
  }

  async #writeDeploymentStatus({ status }: Deployment) {
    const readyReplicas = this.#ready.length;
    if ((status?.readyReplicas ?? 0) === readyReplicas) return;
    // The API server rejects more ready than existing pods.
    await this.#admin.patch(`${PATHS.deployment}/status`, {
      status: { replicas: Math.max(this.pods.length, readyReplicas), readyReplicas },
    });
  }

  async #findDeployment(): Promise<Deployment | undefined> {
    const deployment = await this.#admin.find(PATHS.deployment);
    if (deployment?.metadata.deletionTimestamp !== undefined) return undefined;
    return deployment as Deployment | undefined;
  }

  /** Each pod gets a token of its own: tokens of a service account end with it. */
  async #writeKubeconfig(pod: Pod) {
    const token = await serviceAccountToken(this.#admin, NAMESPACE, NAME);
    await mkdir(pod.directory, { recursive: true });
    const { apiServer, caCertificate } = this.#controlPlane;
    await writeFile(pod.kubeconfig, kubeconfig(apiServer.url, caCertificate, { token }), { mode: 0o600 });
  }
}

/** An address of this machine. The API server rejects endpoints at 127.0.0.1. */
function findOwnAddress() {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const own = addresses.find(
    ({ family, internal, address }) => family === 'IPv4' && !internal && !address.startsWith('169.254.'),
  );
  if (own !== undefined) return own.address;
  throw new Error('This machine needs an IPv4 address other than 127.0.0.1.');
}
