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

function toDo(verbs: readonly string[], object: Omit<Right, 'verb'>): readonly Right[] {
  return verbs.map((verb) => Object.assign({ verb }, object));
}

/** Those of the rights that the ServiceAccount has. */
async function granted(rights: readonly Right[]): Promise<readonly Right[]> {
  const answers = await Promise.all(rights.map(isGranted));
  return rights.filter((_, index) => answers[index]);
}

async function isGranted(resourceAttributes: Right): Promise<boolean> {
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

test.for(NEVER_WRITTEN)('the ServiceAccount may in no way write $resource', async (object) => {
  expect(await granted(toDo(WRITES, object))).toEqual([]);
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

test('the ServiceAccount reaches nothing beyond its own Secret, Lease and Events', async () => {
  expect(await granted(OUT_OF_REACH)).toEqual([]);
});

const READS = ['get', 'list', 'watch'];
const NEEDED: readonly Right[] = [
  ...toDo(READS, { group: '', resource: 'nodes' }),
  ...toDo(READS, { group: MCO, resource: 'machineconfigs' }),
  ...toDo(READS, { group: MCO, resource: 'machineconfigpools' }),
  ...toDo(READS, { group: MCO, resource: 'machineosbuilds' }),
  ...toDo([...READS, 'create'], { group: 'machineconfig-guard.io', resource: 'machineconfigguards' }),
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

test('the ServiceAccount may do what the guard needs', async () => {
  expect(await granted(NEEDED)).toEqual(NEEDED);
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

test('the guard at work is never refused a right', async () => {
  const [free, used] = [await cluster.config(), await cluster.config()];
  await cluster.node({ currentConfig: used });
  await cluster.delete(free);
  await cluster.delete(used);
  await cluster.awaitEvent(used);

  const requests = await cluster.auditLog.events((e) => e.user.username === GUARD && e.userAgent !== PROBE);

  expect(requests.length).toBeGreaterThan(0);
  expect(requests.filter(({ responseStatus }) => [401, 403].includes(responseStatus?.code ?? 0))).toEqual([]);
});
