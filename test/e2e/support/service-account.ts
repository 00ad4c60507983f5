import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { PATHS } from './paths.ts';

/**
 * A token of a service account, such as a pod gets; it lasts two hours. One that is bound to a Secret of the same namespace is worth nothing
 * once the Secret is gone.
 */
export async function serviceAccountToken(
  admin: KubeClient,
  namespace: string,
  name: string,
  secret?: KubeObject,
): Promise<string> {
  const path = `${PATHS.namespaces}/${namespace}/serviceaccounts/${name}/token`;
  const boundTo = secret && { apiVersion: 'v1', kind: 'Secret', name: secret.metadata.name, uid: secret.metadata.uid };
  const spec = { expirationSeconds: 7_200, ...(boundTo === undefined ? {} : { boundObjectRef: boundTo }) };
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  const { status } = (await admin.create(path, request)) as { status?: { token?: string } };
  if (status?.token === undefined) throw new Error('The API server answered a TokenRequest without a token.');
  return status.token;
}
