/** A kind of object that the sandbox can serve. */
export interface Kind {
  /** Empty for the core group. */
  readonly group: string;
  /** Every version it can be served at, the preferred one first. */
  readonly versions: readonly [string, ...string[]];
  /** Plural, as in paths. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Compiled into the API server rather than defined by a CRD: its list items carry no apiVersion and kind. */
  readonly builtIn: boolean;
  /** Is `status` written through `/status` alone? */
  readonly status: boolean;
}

const MCO = 'machineconfiguration.openshift.io';

/** What the guard, its commands and the actors of the demo read and write (openshift/api, payload-manifests/crds). */
export const KINDS: readonly Kind[] = [
  {
    group: '',
    versions: ['v1'],
    resource: 'nodes',
    kind: 'Node',
    namespaced: false,
    builtIn: true,
    status: true,
  },
  {
    group: '',
    versions: ['v1'],
    resource: 'secrets',
    kind: 'Secret',
    namespaced: true,
    builtIn: true,
    status: false,
  },
  {
    group: MCO,
    versions: ['v1'],
    resource: 'machineconfigs',
    kind: 'MachineConfig',
    namespaced: false,
    builtIn: false,
    status: false,
  },
  {
    group: MCO,
    versions: ['v1'],
    resource: 'machineconfigpools',
    kind: 'MachineConfigPool',
    namespaced: false,
    builtIn: false,
    status: true,
  },
  {
    group: MCO,
    versions: ['v1', 'v1alpha1'],
    resource: 'machineosbuilds',
    kind: 'MachineOSBuild',
    namespaced: false,
    builtIn: false,
    status: true,
  },
  {
    group: 'admissionregistration.k8s.io',
    versions: ['v1'],
    resource: 'validatingwebhookconfigurations',
    kind: 'ValidatingWebhookConfiguration',
    namespaced: false,
    builtIn: true,
    status: false,
  },
  {
    group: 'events.k8s.io',
    versions: ['v1'],
    resource: 'events',
    kind: 'Event',
    namespaced: true,
    builtIn: true,
    status: false,
  },
  {
    group: 'certificates.k8s.io',
    versions: ['v1'],
    resource: 'certificatesigningrequests',
    kind: 'CertificateSigningRequest',
    namespaced: false,
    builtIn: true,
    status: true,
  },
  {
    group: 'coordination.k8s.io',
    versions: ['v1'],
    resource: 'leases',
    kind: 'Lease',
    namespaced: true,
    builtIn: true,
    status: false,
  },
  {
    group: 'machineconfig-guard.io',
    versions: ['v1alpha1'],
    resource: 'machineconfigguards',
    kind: 'MachineConfigGuard',
    namespaced: false,
    builtIn: false,
    status: true,
  },
];

/** The kind with this plural. Throws where the sandbox knows none. */
export function kindOf(resource: string): Kind {
  const kind = KINDS.find((known) => known.resource === resource);
  if (kind === undefined) throw new Error(`the sandbox has no resource "${resource}"`);
  return kind;
}

/** `v1` for the core group, `group/v1` for any other. */
export function apiVersion(kind: Kind, version: string = kind.versions[0]): string {
  return kind.group === '' ? version : `${kind.group}/${version}`;
}

/** The resource as error messages name it: `nodes`, `machineconfigs.machineconfiguration.openshift.io`. */
export function qualified(kind: Kind): string {
  return kind.group === '' ? kind.resource : `${kind.resource}.${kind.group}`;
}
