import type { KubeClient } from '../control-plane/kube-client.ts';
import { PATHS } from './paths.ts';

/** A token of a service account, such as a pod gets; it lasts two hours. */
export async function serviceAccountToken(admin: KubeClient, namespace: string, name: string): Promise<string> {
  const path = `${PATHS.namespaces}/${namespace}/serviceaccounts/${name}/token`;
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7_200 } };
  const { status } = (await admin.create(path, request)) as { status?: { token?: string } };
  if (status?.token === undefined) throw new Error('The API server answered a TokenRequest without a token.');
  return status.token;
}
