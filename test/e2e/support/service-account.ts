import type { KubeClient, Rule } from '../control-plane/kube-client.ts';
import { PATHS } from './paths.ts';

const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** Issues a token of a service account that is valid for two hours. */
export async function serviceAccountToken(admin: KubeClient, namespace: string, name: string) {
  const path = `${PATHS.namespaces}/${namespace}/serviceaccounts/${name}/token`;
  const spec = { expirationSeconds: 7_200 };
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  const { status } = (await admin.create(path, request)) as { status?: { token?: string } };
  if (status?.token === undefined) throw new Error('The API server answered a TokenRequest without a token.');
  return status.token;
}

/** Creates a service account in the namespace default with these cluster-wide rights, and returns a token. */
export async function createServiceAccount(admin: KubeClient, name: string, rules: readonly Rule[]) {
  const metadata = { name };
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
  await admin.create(`${PATHS.namespaces}/default/serviceaccounts`, account);
  const apiVersion = `${RBAC_GROUP}/v1`;
  await admin.create(`/apis/${apiVersion}/clusterroles`, { apiVersion, kind: 'ClusterRole', metadata, rules });
  await admin.create(`/apis/${apiVersion}/clusterrolebindings`, {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
  });
  return serviceAccountToken(admin, 'default', name);
}
