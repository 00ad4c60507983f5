import { afterAll, expect, test } from 'vitest';

import { KubeClient, statusOf } from '../control-plane/kube-client.ts';
import { sharedCluster } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';

const cluster = sharedCluster();
const PROBE = 'e2e-rights-probe';
const GUARD = 'system:serviceaccount:machineconfig-guard:machineconfig-guard';
/** A client with the guard's own token. */
const asGuard = new KubeClient({ ...cluster.connection.guard, userAgent: PROBE });
const MCO = 'machineconfiguration.openshift.io';

afterAll(() => asGuard.close());

interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

async function mayGuard(resourceAttributes: Right): Promise<boolean> {
  const review = await asGuard.create('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  });
  return (review.status as { allowed: boolean }).allowed;
}

const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection'];
const NEVER_WRITTEN = [
  { group: '', resource: 'nodes' },
  { group: MCO, resource: 'machineconfigs' },
  { group: MCO, resource: 'machineconfigpools' },
  { group: MCO, resource: 'machineosbuilds' },
  { group: 'admissionregistration.k8s.io', resource: 'validatingwebhookconfigurations' },
  { group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
  { group: '', resource: 'secrets', namespace: 'machineconfig-guard' },
];

test.for(NEVER_WRITTEN)('the ServiceAccount may not write $resource', async (object) => {
  const granted = [];
  for (const verb of WRITES) if (await mayGuard({ verb, ...object })) granted.push(verb);
  expect(granted).toEqual([]);
});

const OUT_OF_REACH: readonly Right[] = [
  { verb: 'get', group: '', resource: 'secrets', namespace: 'machineconfig-guard', name: 'another' },
  { verb: 'list', group: '', resource: 'secrets', namespace: 'machineconfig-guard' },
  { verb: 'get', group: '', resource: 'secrets', namespace: 'kube-system', name: 'machineconfig-guard-ca' },
  {
    verb: 'update',
    group: 'coordination.k8s.io',
    resource: 'leases',
    namespace: 'machineconfig-guard',
    name: 'another',
  },
  { verb: 'create', group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system' },
  { verb: 'create', group: 'events.k8s.io', resource: 'events', namespace: 'kube-system' },
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'update', group: 'machineconfig-guard.io', resource: 'machineconfigguards' },
];

test.for(OUT_OF_REACH)('the ServiceAccount may not $verb $resource $name of $namespace', async (right) => {
  expect(await mayGuard(right)).toBe(false);
});

const GRANTED: readonly Right[] = [
  ...['nodes'].flatMap((resource) => ['get', 'list', 'watch'].map((verb) => ({ verb, group: '', resource }))),
  ...['machineconfigs', 'machineconfigpools', 'machineosbuilds'].flatMap((resource) =>
    ['get', 'list', 'watch'].map((verb) => ({ verb, group: MCO, resource })),
  ),
  ...['get', 'list', 'watch', 'create'].map((verb) => ({
    verb,
    group: 'machineconfig-guard.io',
    resource: 'machineconfigguards',
  })),
  { verb: 'patch', group: 'machineconfig-guard.io', resource: 'machineconfigguards', subresource: 'status' },
  { verb: 'create', group: 'events.k8s.io', resource: 'events', namespace: 'default' },
  { verb: 'patch', group: 'events.k8s.io', resource: 'events', namespace: 'default' },
  { verb: 'create', group: 'authentication.k8s.io', resource: 'tokenreviews' },
  { verb: 'create', group: 'authorization.k8s.io', resource: 'subjectaccessreviews' },
  { verb: 'get', group: '', resource: 'secrets', namespace: 'machineconfig-guard', name: 'machineconfig-guard-ca' },
  { verb: 'create', group: 'coordination.k8s.io', resource: 'leases', namespace: 'machineconfig-guard' },
  {
    verb: 'update',
    group: 'coordination.k8s.io',
    resource: 'leases',
    namespace: 'machineconfig-guard',
    name: 'machineconfig-guard',
  },
];

test.for(GRANTED)('the ServiceAccount may $verb $resource', async (right) => {
  expect(await mayGuard(right)).toBe(true);
});

test('the API server refuses the ServiceAccount a deletion and a node update for want of rights', async () => {
  const config = await cluster.config();
  const node = await cluster.node({ currentConfig: config });

  const deletion = await asGuard.delete(`${PATHS.configs}/${config}`);
  const extras = { contentType: 'application/merge-patch+json' };
  const update = await asGuard.request('PATCH', `${PATHS.nodes}/${node}`, { metadata: { labels: { a: 'b' } } }, extras);

  for (const response of [deletion, update]) {
    expect(response.status).toBe(403);
    expect(statusOf(response).message).toContain(`User "${GUARD}" cannot`);
  }
  expect(await cluster.exists(config)).toBe(true);
});

test('the guard at work is never refused a right: what it asks for and what it is given are the same', async () => {
  const [free, used] = [await cluster.config(), await cluster.config()];
  await cluster.node({ currentConfig: used });
  await cluster.delete(free);
  await cluster.delete(used);
  await cluster.awaitEvent(used);

  const requests = await cluster.auditLog.events((e) => e.user.username === GUARD && e.userAgent !== PROBE);

  expect(requests.length).toBeGreaterThan(0);
  expect(requests.filter(({ responseStatus }) => [401, 403].includes(responseStatus?.code ?? 0))).toEqual([]);
  const writes = requests.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb));
  for (const { objectRef } of writes)
    expect(objectRef?.apiGroup).toMatch(
      /^(events|authentication|authorization)\.k8s\.io$|^machineconfig-guard\.io$|^coordination\.k8s\.io$/,
    );
});
