import { expectStatus } from '../control-plane/kube-client.ts';
import { type Cluster, unique } from '../support/cluster.ts';
import { OPERATOR_NAMESPACE, PATHS } from '../support/objects.ts';

const PODS = `${PATHS.namespaces}/${OPERATOR_NAMESPACE}/pods`;

/** The namespace may exist already. */
export async function ensureOperatorNamespace({ admin }: Cluster): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OPERATOR_NAMESPACE } };
  expectStatus(await admin.request('POST', PATHS.namespaces, namespace), [201, 409], 'the creation of the namespace');
}

/** Creates the pod of the machine-config-daemon on a node whose kubelet listens at this port. */
export async function createDaemonPod(cluster: Cluster, nodeName: string, kubeletPort: number): Promise<void> {
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
  const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } } };
  await cluster.admin.patch(`${PATHS.nodes}/${nodeName}/status`, { status });
  await ensureOperatorNamespace(cluster);
  await cluster.admin.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: unique('machine-config-daemon'), labels: { 'k8s-app': 'machine-config-daemon' } },
    spec: { nodeName, containers: [{ name: 'machine-config-daemon', image: 'mco' }] },
  });
}

/** At once, without a kubelet. A drain would wait for them. */
export async function deleteDaemonPods({ admin }: Cluster, nodeName = ''): Promise<void> {
  const selector = nodeName === '' ? {} : { fieldSelector: `spec.nodeName=${nodeName}` };
  await admin.delete(PODS, { ...selector, gracePeriodSeconds: '0' });
}
