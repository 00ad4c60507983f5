import { MCO_GROUP } from '../../../src/mco/api-paths.ts';

export interface Kind {
  readonly group: string;
  readonly versions: readonly [string, ...string[]];
  readonly resource: string;
  readonly kind: string;
  /** Whether only writes to its status change the status. */
  readonly hasStatus: boolean;
}

/** Those whose status a guard, a command or a test writes through the API. */
const WITH_STATUS = new Set(['MachineConfigPool', 'MachineConfigGuard']);

export const KINDS: readonly Kind[] = [
  defineKind('', 'Node'),
  defineKind('', 'Namespace'),
  defineKind('', 'Secret'),
  defineKind('', 'ConfigMap'),
  defineKind(MCO_GROUP, 'MachineConfig'),
  defineKind(MCO_GROUP, 'MachineConfigPool'),
  defineKind(MCO_GROUP, 'KubeletConfig'),
  defineKind(MCO_GROUP, 'ContainerRuntimeConfig'),
  defineKind(MCO_GROUP, 'MachineOSBuild', ['v1', 'v1alpha1']),
  defineKind(MCO_GROUP, 'MachineOSConfig', ['v1', 'v1alpha1']),
  defineKind('admissionregistration.k8s.io', 'ValidatingWebhookConfiguration'),
  defineKind('admissionregistration.k8s.io', 'ValidatingAdmissionPolicyBinding'),
  defineKind('apiextensions.k8s.io', 'CustomResourceDefinition'),
  defineKind('monitoring.openshift.io', 'AlertingRule'),
  defineKind('rbac.authorization.k8s.io', 'ClusterRole'),
  defineKind('events.k8s.io', 'Event'),
  defineKind('certificates.k8s.io', 'CertificateSigningRequest'),
  defineKind('coordination.k8s.io', 'Lease'),
  defineKind('apps', 'Deployment'),
  defineKind('config.openshift.io', 'APIServer'),
  defineKind('machineconfig-guard.io', 'MachineConfigGuard', ['v1alpha1']),
];

function defineKind(group: string, kind: string, versions: Kind['versions'] = ['v1']): Kind {
  return { group, versions, kind, resource: `${kind.toLowerCase()}s`, hasStatus: WITH_STATUS.has(kind) };
}

export function findKind(resource: string): Kind {
  const kind = KINDS.find((candidate) => candidate.resource === resource);
  if (kind === undefined) throw new Error(`the in-memory cluster has no resource "${resource}"`);
  return kind;
}

export function toApiVersion({ group, versions }: Kind, version: string = versions[0]): string {
  return group === '' ? version : `${group}/${version}`;
}

const PATH = new RegExp(
  String.raw`^/(?:api|apis/(?<group>[^/]+))/(?<version>[^/]+)(?:/namespaces/(?<namespace>[^/]+))?` +
    String.raw`/(?<resource>[^/]+)(?:/(?<name>[^/]+)(?<status>/status)?)?$`,
);

export type ResourcePath = NonNullable<ReturnType<typeof parseResourcePath>>;

/**
 * Parses the path of an object, of its status or of a collection. The namespace is empty for cluster-scoped objects and
 * for all namespaces. Returns undefined if the cluster has no such resource.
 */
export function parseResourcePath(path: string) {
  const { group = '', version = '', namespace = '', resource, name, status } = PATH.exec(path)?.groups ?? {};
  const kind = KINDS.find((candidate) => candidate.group === group && candidate.resource === resource);
  if (kind?.versions.includes(version) !== true) return undefined;
  return { kind, version, namespace, name: name && decodeURIComponent(name), isStatus: status !== undefined };
}
