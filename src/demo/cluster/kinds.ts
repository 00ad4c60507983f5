import { MCO_GROUP } from '../../kube/api-paths.ts';

export interface Kind {
  readonly group: string;
  /** The preferred one first. */
  readonly versions: readonly [string, ...string[]];
  readonly resource: string;
  readonly kind: string;
}

export const KINDS: readonly Kind[] = [
  defineKind('', 'nodes', 'Node'),
  defineKind('', 'namespaces', 'Namespace'),
  defineKind('', 'secrets', 'Secret'),
  defineKind(MCO_GROUP, 'machineconfigs', 'MachineConfig'),
  defineKind(MCO_GROUP, 'machineconfigpools', 'MachineConfigPool'),
  defineKind(MCO_GROUP, 'machineosbuilds', 'MachineOSBuild', ['v1', 'v1alpha1']),
  defineKind('admissionregistration.k8s.io', 'validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'),
  defineKind('events.k8s.io', 'events', 'Event'),
  defineKind('certificates.k8s.io', 'certificatesigningrequests', 'CertificateSigningRequest'),
  defineKind('coordination.k8s.io', 'leases', 'Lease'),
  defineKind('apps', 'deployments', 'Deployment'),
  defineKind('config.openshift.io', 'apiservers', 'APIServer'),
  defineKind('machineconfig-guard.io', 'machineconfigguards', 'MachineConfigGuard', ['v1alpha1']),
];

function defineKind(group: string, resource: string, kind: string, versions: Kind['versions'] = ['v1']): Kind {
  return { group, versions, resource, kind };
}

export function findKind(resource: string): Kind {
  const kind = KINDS.find((candidate) => candidate.resource === resource);
  if (kind === undefined) throw new Error(`the in-memory cluster has no resource "${resource}"`);
  return kind;
}

export function toApiVersion(kind: Kind, version: string = kind.versions[0]): string {
  return kind.group === '' ? version : `${kind.group}/${version}`;
}

export interface ResourcePath {
  readonly kind: Kind;
  readonly version: string;
  /** Empty for cluster-scoped objects and for all namespaces. */
  readonly namespace: string;
  readonly name: string | undefined;
  readonly isStatus: boolean;
}

const PATH = new RegExp(
  String.raw`^/(?:api|apis/(?<group>[^/]+))/(?<version>[^/]+)(?:/namespaces/(?<namespace>[^/]+))?` +
    String.raw`/(?<resource>[^/]+)(?:/(?<name>[^/]+)(?<status>/status)?)?$`,
);

export function parseResourcePath(path: string): ResourcePath | undefined {
  const { group = '', version = '', namespace = '', resource, name, status } = PATH.exec(path)?.groups ?? {};
  const kind = KINDS.find((candidate) => candidate.group === group && candidate.resource === resource);
  if (kind?.versions.includes(version) !== true) return undefined;
  const decodedName = name === undefined ? undefined : decodeURIComponent(name);
  return { kind, version, namespace, name: decodedName, isStatus: status !== undefined };
}
