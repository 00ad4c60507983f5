import { expect, test } from 'vitest';

import { KubeClient } from '../control-plane/kube-client.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const MCO = 'machineconfiguration.openshift.io';
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const installed = await sharedInstalledCluster();
const guard = new KubeClient(await installed.connectAsGuard());

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
const SECRETS = { group: '', resource: 'secrets' };
const FOREIGN_OBJECTS: readonly Right[] = [
  { verb: 'get', ...SECRETS, namespace: 'machineconfig-guard', name: 'another' },
  { verb: 'list', ...SECRETS, namespace: 'machineconfig-guard' },
  { verb: 'get', ...SECRETS, namespace: 'kube-system', name: 'machineconfig-guard-ca' },
  { verb: 'create', group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system' },
  { verb: 'create', group: 'events.k8s.io', resource: 'events', namespace: 'kube-system' },
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'update', group: 'machineconfig-guard.io', resource: 'machineconfigguards' },
];

test.for([...PROTECTED_RESOURCES.flatMap((object) => WRITES.map((verb) => ({ verb, ...object }))), ...FOREIGN_OBJECTS])(
  'the guard may not $verb $resource $name',
  async (right) => {
    expect(await isGranted(right)).toBe(false);
  },
);
