import { type Cluster, unique } from '../support/cluster.ts';
import { ensureOperatorNamespace, OPERATOR_NAMESPACE } from '../support/operator-namespace.ts';
import { PATHS } from '../support/paths.ts';

const MCO = 'machineconfiguration.openshift.io';

/** What the machine-config-daemon reports. */
export async function setNodeState({ admin }: Cluster, node: string, state: string): Promise<void> {
  const reason = state === 'Degraded' ? 'missing MachineConfig' : '';
  const annotations = { [`${MCO}/state`]: state, [`${MCO}/reason`]: reason };
  await admin.patch(`${PATHS.nodes}/${node}`, { metadata: { annotations } });
}

/** Creates the pod of the machine-config-daemon, and tells the API server at which port the kubelet listens. */
export async function createDaemonPod(
  cluster: Cluster,
  nodeName: string,
  kubeletPort: number,
): Promise<void> {
  const { admin } = cluster;
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
  const daemonEndpoints = { kubeletEndpoint: { Port: kubeletPort } };
  await admin.patch(`${PATHS.nodes}/${nodeName}/status`, { status: { addresses, daemonEndpoints } });
  await ensureOperatorNamespace(cluster);
  await admin.create(`${PATHS.namespaces}/${OPERATOR_NAMESPACE}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: unique('machine-config-daemon'), labels: { 'k8s-app': 'machine-config-daemon' } },
    spec: { nodeName, containers: [{ name: 'machine-config-daemon', image: 'mco' }] },
  });
}
