import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { Cluster, hasCondition } from '../support/cluster.ts';
import { kubectl, kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/objects.ts';
import { runProgramOk } from '../support/programs.ts';
import { GUARD_IMAGE } from './images.ts';
import type { NodeCluster } from './node-cluster.ts';
import type { Node } from './node.ts';

const NAMESPACE = 'machineconfig-guard';
export const DEPLOYMENT = 'deployment/machineconfig-guard';
const PODS = `${PATHS.guardNamespace}/pods`;
/** As OpenShift assigns to a namespace. */
export const USER_ID = 1_000_660_000;

export interface GuardPod extends KubeObject {
  readonly spec: { readonly nodeName: string; readonly containers: readonly { readonly image: string }[] };
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly containerID: string;
      readonly restartCount: number;
    }[];
  };
}

/** The guard's pods on real nodes. */
export class GuardPods {
  readonly cluster: NodeCluster;
  readonly #admin: KubeClient;

  constructor(cluster: NodeCluster) {
    this.cluster = cluster;
    this.#admin = cluster.controlPlane.apiServer.admin;
  }

  /** Applies an installation without a hold, with these flags of `render`, and waits for its pods. */
  async install(...flags: readonly string[]) {
    const { controlPlane } = this.cluster;
    const settings = ['--image', GUARD_IMAGE, '--mode', 'Enforce', '--hold', '0s', '--openshift-version', '4.18'];
    const rendered = await runProgramOk('render', '--out', '-', ...settings, ...flags);
    // As OpenShift's SCC sets it.
    const manifests = rendered.replace(/^( +)runAsNonRoot: true$/m, `$&\n$1runAsUser: ${USER_ID}`);
    const apply = async () => (await kubectl(controlPlane, ['apply', '--filename=-'], manifests)).exitCode === 0;
    // The MachineConfigGuard needs its CRD first.
    await until('kubectl apply', apply);
    await this.awaitRollout();
    await new Cluster(controlPlane.apiServer).awaitGuardCalls();
  }

  async kubectl(...args: readonly string[]) {
    return kubectlOk(this.cluster.controlPlane, [`--namespace=${NAMESPACE}`, ...args]);
  }

  async list(): Promise<readonly GuardPod[]> {
    const pods = (await this.#admin.list(PODS)) as readonly GuardPod[];
    return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  async readLogs() {
    return Promise.all((await this.list()).map((pod) => this.readLog(pod)));
  }

  /** The log of the current container. Empty if none has started. */
  async readLog({ metadata }: GuardPod): Promise<string> {
    const { status, body } = await this.#admin.request('GET', `${PODS}/${metadata.name}/log`);
    return status === 200 ? String(body) : '';
  }

  /**
   * The pod that the API server calls. It sends all calls to one pod as long as the connection lives. Some client must
   * call the guard meanwhile.
   */
  async findServing(): Promise<GuardPod> {
    const countAnswers = async (pod: GuardPod) => (await this.readLog(pod)).split('"verdict":').length;
    const pods = await this.list();
    const before = await Promise.all(pods.map(countAnswers));
    return until('an answer of a pod', async () => {
      const counts = await Promise.all(pods.map(countAnswers));
      return pods.find((_, index) => (counts[index] ?? 0) > (before[index] ?? 0));
    });
  }

  nodeOf(pod: GuardPod): Node {
    const node = this.cluster.nodes.find(({ name }) => name === pod.spec.nodeName);
    if (node === undefined) throw new Error(`${pod.metadata.name} runs on no node of this cluster.`);
    return node;
  }

  /** Waits until all replicas run the current template and are available. */
  async awaitRollout() {
    await this.kubectl('rollout', 'status', DEPLOYMENT, '--timeout=120s');
  }

  /** Waits until a container of a pod has been restarted and the pod is ready. */
  async awaitRestart({ metadata, status }: GuardPod): Promise<void> {
    const before = restartCountOf(status);
    await until(`a restart of ${metadata.name}`, async () => {
      const pod = (await this.#admin.find(`${PODS}/${metadata.name}`)) as GuardPod | undefined;
      return pod !== undefined && restartCountOf(pod.status) > before && hasCondition(pod, 'Ready');
    });
  }

  /** The processes of a pod's container. */
  async listProcesses(pod: GuardPod): Promise<readonly number[]> {
    const containerId = pod.status.containerStatuses?.[0]?.containerID ?? '';
    const cgroup = this.nodeOf(pod).containerCgroup(pod.metadata.uid ?? '', containerId);
    const processes = await readFile(join(cgroup, 'cgroup.procs'), 'utf8');
    return processes.trim().split('\n').map(Number);
  }

  /** Sends a signal to the processes of a pod's container. */
  async signal(pod: GuardPod, signal: NodeJS.Signals) {
    for (const pid of await this.listProcesses(pod)) process.kill(pid, signal);
  }

  async stop() {
    await this.cluster.stop();
  }
}

function restartCountOf({ containerStatuses }: GuardPod['status']): number {
  return containerStatuses?.[0]?.restartCount ?? 0;
}
