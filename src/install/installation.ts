import type { Authority } from '../certificates/authority.ts';
import type { Mode } from '../decision/settings.ts';
import {
  ADMISSION_POLICY,
  FLOW_SCHEMA,
  isAtLeast,
  type KubernetesVersion,
  MATCH_CONDITIONS,
} from './kubernetes-version.ts';
import { buildManifests } from './kustomization.ts';
import { createAuthoritySecret, encodeBase64, type Manifest, type OutputFile } from './manifest.ts';

/** What the API server does while the guard does not answer. */
export type Profile = 'fail-closed' | 'fail-open-with-floor';

export interface InstallationOptions {
  readonly image: string;
  readonly profile: Profile;
  /** If undefined, OpenShift's service CA issues the certificates. */
  readonly authority: Authority | undefined;
  /** The API servers trust this authority as well, because running replicas have certificates from it. */
  readonly previousAuthority?: Authority | undefined;
  /**
   * The guard creates the MachineConfigGuard with this mode and hold, and does not change an existing one. The
   * manifests contain none, because `kubectl apply` looks up all kinds before it creates the CRD.
   */
  readonly mode?: Mode | undefined;
  /** `holdSuperseded`. */
  readonly hold?: string | undefined;
  readonly singleNode?: boolean;
  readonly hostNetwork?: boolean;
  /** Whether the guard may read MachineConfigs; true by default. */
  readonly machineconfigAccess?: boolean;
  /** Whether the webhook port is open to all addresses instead of the host network only. */
  readonly openNetwork?: boolean;
  /** Whether a policy denies references that cannot be the name of a rendered config. */
  readonly referencePolicy?: boolean;
  readonly kubernetesVersion?: KubernetesVersion | undefined;
  readonly namespaceAnnotations?: Readonly<Record<string, string>>;
}

export interface InstallationFile extends OutputFile {
  readonly kind: string;
  readonly objectName: string;
}

export interface Installation {
  readonly files: readonly InstallationFile[];
  /** Missing kinds, with the reason. */
  readonly omittedObjects: readonly string[];
  /** What the API server does with deletions while the guard is down: `Ignore` allows them. */
  readonly failurePolicy: FailurePolicy;
  readonly warnings: readonly string[];
}

type FailurePolicy = 'Fail' | 'Ignore';

/** The options exclude each other, or the cluster is too old. */
export class InvalidInstallation extends Error {
  override readonly name = 'InvalidInstallation';
}

interface Policy {
  readonly spec: { readonly variables?: readonly { readonly name: string }[] };
}

/** Matches every {@link InstallationFile}, but no file of the user. */
export const OWN_FILE_NAME = /^99_machineconfig-guard-\d\d-[a-z]+\.yaml$/;

const NAME = 'machineconfig-guard';
/** As in `serve --tls-secret` of components/generated. */
const AUTHORITY_SECRET = `${NAME}-ca`;
const SETTINGS_POLICY = 'settings.machineconfig-guard.io';
const CONTAINER = ['spec', 'template', 'spec', 'containers', 0] as const;
/** Objects come after those that they need, because `oc apply -f` does not retry. */
const FIRST_FILE_NUMBER: Readonly<Record<string, number>> = {
  Namespace: 0,
  CustomResourceDefinition: 5,
  ServiceAccount: 10,
  ClusterRole: 15,
  ClusterRoleBinding: 20,
  Role: 25,
  RoleBinding: 30,
  Secret: 40,
  Service: 45,
  Deployment: 50,
  PodDisruptionBudget: 55,
  NetworkPolicy: 60,
  FlowSchema: 65,
  ValidatingAdmissionPolicy: 70,
  ValidatingAdmissionPolicyBinding: 75,
  ValidatingWebhookConfiguration: 80,
};

/** MCO 4.14 deletes the config of a KubeletConfig before it removes the finalizer of the KubeletConfig. */
const IGNORE_REASON =
  'Kubernetes 1.27 (OpenShift 4.14) ignores matchConditions. With failurePolicy Fail, the Machine Config Operator ' +
  'could not delete source MachineConfigs while the guard is down. This version serves no policy floor';

interface NewerKinds {
  readonly kinds: readonly string[];
  readonly since: KubernetesVersion;
  readonly requirement: string;
}

/** Kinds that the guard works without, and the first version that serves them. */
export const NEWER_KINDS: readonly NewerKinds[] = [
  { kinds: ['FlowSchema'], since: FLOW_SCHEMA, requirement: 'Kubernetes 1.29 (OpenShift 4.16)' },
  {
    kinds: ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
    since: ADMISSION_POLICY,
    requirement: 'Kubernetes 1.30 (OpenShift 4.17)',
  },
];

/**
 * Uses only kinds that an API server serves from its start, and our own, because one object that cannot be
 * applied fails the whole install.
 *
 * @throws InvalidInstallation
 */
export function buildInstallation(options: InstallationOptions): Installation {
  const { profile, authority, previousAuthority, mode, hold, image, kubernetesVersion } = options;
  if (profile === 'fail-open-with-floor')
    assertPolicies(kubernetesVersion, 'profile fail-open-with-floor', 'use fail-closed');
  if (options.referencePolicy === true)
    assertPolicies(kubernetesVersion, 'reference policy', 'leave out --reference-policy');
  const omitted = NEWER_KINDS.filter(({ since }) => !isAtLeast(kubernetesVersion, since));
  const manifests = buildManifests(chooseDirectories(options));
  for (const [key, value] of Object.entries(options.namespaceAnnotations ?? {})) {
    findByKind(manifests, 'Namespace').setIn(['metadata', 'annotations', key], value);
  }
  const deployment = findByKind(manifests, 'Deployment');
  deployment.setIn([...CONTAINER, 'image'], image);
  if (mode !== undefined) deployment.addIn([...CONTAINER, 'args'], `--initial-mode=${mode}`);
  if (hold !== undefined) deployment.addIn([...CONTAINER, 'args'], `--initial-hold=${hold}`);
  allowInitialSettings(manifests, { mode, holdSuperseded: hold });
  const webhook = findByKind(manifests, 'ValidatingWebhookConfiguration');
  const failurePolicy = webhook.getIn(['webhooks', 0, 'failurePolicy']) as FailurePolicy;
  const isOpenByVersion = failurePolicy === 'Ignore' && profile === 'fail-closed';
  if (authority !== undefined) {
    const trusted = previousAuthority === undefined ? [authority] : [previousAuthority, authority];
    const caBundle = trusted.map(({ certificatePem }) => `${certificatePem.trim()}\n`).join('');
    webhook.setIn(['webhooks', 0, 'clientConfig', 'caBundle'], encodeBase64(caBundle));
    const comment = ' The authority that signs the serving certificate of each replica. Keep it secret.';
    const labels = webhook.getIn(['metadata', 'labels'], true) as object;
    const metadata = { name: AUTHORITY_SECRET, namespace: NAME, labels };
    manifests.push(createAuthoritySecret(comment, metadata, authority));
  }
  return {
    files: toFiles(manifests, previousAuthority !== undefined),
    failurePolicy,
    warnings: isOpenByVersion ? [`failurePolicy is Ignore: ${IGNORE_REASON}`] : [],
    omittedObjects: omitted.map(({ kinds, requirement }) => {
      const reason = kubernetesVersion === undefined ? '--openshift-version is not set' : 'the cluster is older';
      return `${kinds.join(' and ')}: needs ${requirement}, but ${reason}`;
    }),
  };
}

function assertPolicies(version: KubernetesVersion | undefined, subject: string, advice: string): void {
  if (isAtLeast(version, ADMISSION_POLICY)) return;
  const requirement = 'needs ValidatingAdmissionPolicy of Kubernetes 1.30 (OpenShift 4.17)';
  const nextStep = version === undefined ? 'set --openshift-version' : advice;
  throw new InvalidInstallation(`the ${subject} ${requirement}; ${nextStep}`);
}

function chooseDirectories({
  profile,
  authority,
  singleNode = false,
  hostNetwork = false,
  machineconfigAccess = true,
  openNetwork = false,
  referencePolicy = false,
  kubernetesVersion,
}: InstallationOptions): string[] {
  return [
    'base',
    authority === undefined ? 'components/service-ca' : 'components/generated',
    ...(profile === 'fail-open-with-floor' ? ['components/fail-open-with-floor'] : []),
    ...(singleNode ? ['components/single-node'] : []),
    ...(hostNetwork ? ['components/host-network'] : []),
    ...(machineconfigAccess ? [] : ['components/no-machineconfig-access']),
    ...(openNetwork ? ['components/open-network'] : []),
    ...(referencePolicy ? ['components/reference-policy'] : []),
    ...chooseReleaseComponent(kubernetesVersion),
  ];
}

/** Each component includes those of the newer releases. */
function chooseReleaseComponent(version: KubernetesVersion | undefined): string[] {
  if (isAtLeast(version, ADMISSION_POLICY)) return [];
  if (isAtLeast(version, FLOW_SCHEMA)) return ['components/openshift-4.16'];
  const isOldest = version !== undefined && !isAtLeast(version, MATCH_CONDITIONS);
  return [isOldest ? 'components/openshift-4.14' : 'components/openshift-4.15'];
}

/** Lets the policy accept the MachineConfigGuard that the guard creates. */
function allowInitialSettings(
  manifests: readonly Manifest[],
  settings: Readonly<Record<string, string | undefined>>,
): void {
  const policy = manifests.find((manifest) => {
    return (
      manifest.get('kind') === 'ValidatingAdmissionPolicy' && manifest.getIn(['metadata', 'name']) === SETTINGS_POLICY
    );
  });
  const { variables = [] } = (policy?.toJS() as Policy | undefined)?.spec ?? {};
  for (const [index, { name }] of variables.entries()) {
    const value = settings[name];
    if (value !== undefined) policy?.setIn(['spec', 'variables', index, 'expression'], `'${value}'`);
  }
}

function findByKind(manifests: readonly Manifest[], kind: string): Manifest {
  const manifest = manifests.find((candidate) => candidate.get('kind') === kind);
  if (manifest === undefined) throw new Error(`manifests/ has no ${kind}`);
  return manifest;
}

/** All files as one YAML stream, for `oc apply -f -`. */
export function formatStream(files: readonly OutputFile[]): string {
  return files.map(({ content }) => content).join('---\n');
}

function toFiles(manifests: readonly Manifest[], isRotation: boolean): InstallationFile[] {
  // The API servers must trust the new authority before a replica reads the new Secret.
  const firstFileNumber = isRotation ? { ...FIRST_FILE_NUMBER, ValidatingWebhookConfiguration: 1 } : FIRST_FILE_NUMBER;
  const countByKind = new Map<string, number>();
  const files = manifests.map((manifest) => {
    const kind = String(manifest.get('kind'));
    const count = countByKind.get(kind) ?? 0;
    countByKind.set(kind, count + 1);
    const number = (firstFileNumber[kind] ?? Number.NaN) + count;
    return {
      name: `99_${NAME}-${String(number).padStart(2, '0')}-${kind.toLowerCase()}.yaml`,
      content: manifest.toString({ lineWidth: 0, flowCollectionPadding: false }),
      isPrivate: kind === 'Secret',
      kind,
      objectName: String(manifest.getIn(['metadata', 'name'])),
    };
  });
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}
