import { expect, test } from 'vitest';

import { KubeClient } from '../control-plane/kube-client.ts';
import { GUARD_USER } from '../support/guarded-cluster.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const PROBE = 'e2e-rights-probe';
const MCO = 'machineconfiguration.openshift.io';
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const installed = await sharedInstalledCluster();
const { cluster } = installed;
const guard = new KubeClient({ ...(await installed.connectAsGuard()), userAgent: PROBE });

interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
}

async function isGranted(resourceAttributes: Right): Promise<boolean> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' };
  const { status } = await guard.create(REVIEWS, { ...review, spec: { resourceAttributes } });
  return (status as { readonly allowed: boolean }).allowed;
}

const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection'];
const PROTECTED_RESOURCES = [
  { group: '', resource: 'nodes' },
  { group: MCO, resource: 'machineconfigs' },
  { group: MCO, resource: 'machineconfigpools' },
  { group: MCO, resource: 'machineosbuilds' },
  { group: 'admissionregistration.k8s.io', resource: 'validatingwebhookconfigurations' },
  { group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
  { group: '', resource: 'secrets', namespace: 'machineconfig-guard' },
];
const FOREIGN_OBJECTS: readonly Right[] = [
  { verb: 'get', group: '', resource: 'secrets', namespace: 'machineconfig-guard', name: 'another' },
  { verb: 'list', group: '', resource: 'secrets', namespace: 'machineconfig-guard' },
  {
    verb: 'get',
    group: '',
    resource: 'secrets',
    namespace: 'kube-system',
    name: 'machineconfig-guard-ca',
  },
  { verb: 'create', group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system' },
  { verb: 'create', group: 'events.k8s.io', resource: 'events', namespace: 'kube-system' },
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'update', group: 'machineconfig-guard.io', resource: 'machineconfigguards' },
];

test.for([
  ...PROTECTED_RESOURCES.flatMap((object) => WRITES.map((verb) => ({ verb, ...object }))),
  ...FOREIGN_OBJECTS,
])('the guard may not $verb $resource $name', async (right) => {
  expect(await isGranted(right)).toBe(false);
});

test('the API server forbids no request of the guard at work', async () => {
  const since = Date.now();
  const unused = await cluster.config();
  const used = await cluster.config();
  await cluster.node({ currentConfig: used });
  await cluster.delete(unused);
  await cluster.delete(used);
  await cluster.awaitEvent(used);

  const requests = await cluster.auditLog.events(({ user, userAgent, requestReceivedTimestamp }) => {
    const isRecent = Date.parse(requestReceivedTimestamp) >= since;
    return isRecent && user.username === GUARD_USER && userAgent !== PROBE;
  });

  const codes = requests.map(({ responseStatus }) => responseStatus?.code);
  expect(codes).toContain(201);
  expect(codes).not.toContain(401);
  expect(codes).not.toContain(403);
});
