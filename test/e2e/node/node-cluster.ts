import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Binaries } from '../control-plane/binaries.ts';
import { Child } from '../control-plane/child.ts';
import { ControlPlane, kubeconfig } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { until } from '../control-plane/until.ts';
import { PATHS } from '../support/paths.ts';
import type { Images } from './images.ts';
import { NodeNetwork } from './node-network.ts';
import { Node } from './node.ts';

/** Everything that a cluster with real nodes needs from disk. */
export interface NodeClusterFiles {
  readonly controlPlane: Binaries;
  /** The folder with kubelet, kube-proxy and kube-scheduler. */
  readonly nodeBinaries: string;
  readonly images: Images;
}

/** A control plane with scheduler and all controllers, and real nodes, which are control-plane nodes, too. */
export class NodeCluster {
  readonly controlPlane: ControlPlane;
  readonly nodes: readonly Node[];

  private constructor(controlPlane: ControlPlane, nodes: readonly Node[]) {
    this.controlPlane = controlPlane;
    this.nodes = nodes;
  }

  /** Returns when all nodes are ready. */
  static async start(files: NodeClusterFiles, nodeCount: number): Promise<NodeCluster> {
    const network = new NodeNetwork();
    const controlPlane = await ControlPlane.start(files.controlPlane, { nodeGateway: network.gateway });
    const started: Node[] = [];
    try {
      await startScheduler(controlPlane, files.nodeBinaries);
      const indices = Array.from({ length: nodeCount }, (_, index) => index);
      await Promise.all(
        indices.map(async (index) => {
          started[index] = await startNode(controlPlane, files, network, index);
        }),
      );
      await Promise.all(started.map((node) => awaitReady(controlPlane, node)));
    } catch (error) {
      await stop(controlPlane, started);
      throw error;
    }
    return new NodeCluster(controlPlane, started);
  }

  async awaitReady(node: Node) {
    await awaitReady(this.controlPlane, node);
  }

  /** Waits until the control plane misses the reports of a node. */
  async awaitUnreachable({ name }: Node) {
    const { admin } = this.controlPlane.apiServer;
    const isUnknown = async () =>
      findCondition(await admin.find(`${PATHS.nodes}/${name}`), 'Ready')?.status === 'Unknown';
    await until(`${name} to be unreachable`, isUnknown);
  }

  async stop() {
    await stop(this.controlPlane, this.nodes);
  }
}

async function stop(controlPlane: ControlPlane, nodes: readonly Node[]) {
  await Promise.all(nodes.map((node) => node.stop()));
  await controlPlane.stop();
}

async function startScheduler(controlPlane: ControlPlane, binaries: string) {
  const { directory, reaper } = controlPlane;
  const [port] = await freePorts(1);
  const file = await writeKubeconfig(controlPlane, 'kube-scheduler', { as: 'system:kube-scheduler' });
  const args = [`--kubeconfig=${file}`, '--leader-elect=false', '--bind-address=127.0.0.1', `--secure-port=${port}`];
  const command = join(binaries, 'kube-scheduler');
  return new Child({ command, args, logFile: join(directory, 'kube-scheduler.log'), reaper });
}

async function startNode(
  controlPlane: ControlPlane,
  { nodeBinaries, images }: NodeClusterFiles,
  network: NodeNetwork,
  index: number,
): Promise<Node> {
  const name = `master-${index}`;
  const server = new URL(controlPlane.apiServer.url);
  server.hostname = network.gateway;
  const write = (component: string, user: Readonly<Record<string, string | readonly string[]>>) =>
    writeKubeconfig(controlPlane, `${component}-${name}`, user, server.origin);
  return Node.start({
    name,
    directory: join(controlPlane.directory, name),
    addresses: network.addressesOf(index),
    gateway: network.gateway,
    binaries: nodeBinaries,
    images,
    kubeconfigs: {
      kubelet: await write('kubelet', { as: `system:node:${name}`, 'as-groups': ['system:nodes'] }),
      kubeProxy: await write('kube-proxy', { as: 'system:kube-proxy' }),
    },
    reaper: controlPlane.reaper,
  });
}

/** Writes a kubeconfig of a component: the administrator, who impersonates it. */
async function writeKubeconfig(
  controlPlane: ControlPlane,
  name: string,
  user: Readonly<Record<string, string | readonly string[]>>,
  server = controlPlane.apiServer.url,
) {
  const { token = '' } = controlPlane.apiServer.connection;
  const file = join(controlPlane.directory, `${name}.kubeconfig`);
  await writeFile(file, kubeconfig(server, controlPlane.caCertificate, { token, ...user }), {
    mode: 0o600,
  });
  return file;
}

/** Adds the labels that a kubelet may not set on its own node, and waits until the node reports that it is ready. */
async function awaitReady(controlPlane: ControlPlane, { name }: Node) {
  const { admin } = controlPlane.apiServer;
  const path = `${PATHS.nodes}/${name}`;
  await until(`the node ${name}`, () => admin.find(path));
  const labels = { 'node-role.kubernetes.io/control-plane': '', 'node-role.kubernetes.io/master': '' };
  await admin.patch(path, { metadata: { labels } });
  const isReady = async () => findCondition(await admin.find(path), 'Ready')?.status === 'True';
  await until(`${name} to be ready`, isReady);
}

/** The condition of an object, if it has one of this type. */
export function findCondition(object: KubeObject | undefined, type: string): Condition | undefined {
  const { conditions = [] } = (object?.status ?? {}) as { readonly conditions?: readonly Condition[] };
  return conditions.find((condition) => condition.type === type);
}

interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
}
