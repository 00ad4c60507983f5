import { onTestFinished } from 'vitest';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeClient, Rule } from '../control-plane/kube-client.ts';
import { unique } from './cluster.ts';
import { PATHS } from './objects.ts';

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

/** A client of the program with these rights, until the end of the test. */
export async function connectWith(controlPlane: ControlPlane, rules: readonly Rule[]) {
  const token = await createServiceAccount(controlPlane.apiServer.admin, unique('user'), rules);
  const api = controlPlane.connectApi(token);
  onTestFinished(() => void api.close());
  return api;
}

/** For each verb on each resource of these rules, the rules without it. */
export function withoutEachRight(rules: readonly Rule[]) {
  return rules.flatMap((rule) =>
    (rule.resources ?? []).flatMap((resource) =>
      rule.verbs.map((verb) => {
        const reduced = [
          { ...rule, resources: rule.resources?.filter((other) => other !== resource) ?? [] },
          { ...rule, resources: [resource], verbs: rule.verbs.filter((other) => other !== verb) },
        ];
        const isComplete = ({ resources, verbs }: (typeof reduced)[number]) => resources.length > 0 && verbs.length > 0;
        return { verb, resource, rest: [...rules.filter((other) => other !== rule), ...reduced.filter(isComplete)] };
      }),
    ),
  );
}
