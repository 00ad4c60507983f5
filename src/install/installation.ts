import type { Authority } from '../certificates/authority.ts';
import type { Mode } from '../api/settings.ts';
import { ADMISSION_POLICY, FLOW_SCHEMA, MATCH_CONDITIONS } from './kubernetes-version.ts';
import { buildManifests, setMetadata } from './kustomization.ts';
import { createAuthoritySecret, encodeBase64, type Manifest, type OutputFile } from './manifest.ts';
import { FLAG_LABEL_PREFIX, getDirectory, isGuardProfile, type Profile } from './profiles.ts';

/** Without a guard, only the profile and the version count. */
export interface InstallationOptions {
  readonly profile: Profile;
  /** The issuer of the guard's certificates, for the profile monitoring. */
  readonly tls?: string;
  readonly image?: string | undefined;
  /** If undefined, OpenShift's service CA issues the certificates. */
  readonly authority?: Authority | undefined;
  /** The API servers trust this authority as well, because running replicas have certificates from it. */
  readonly previousAuthority?: Authority | undefined;
  /**
   * The guard creates the MachineConfigGuard with this mode and hold, and does not change an existing one. The
   * manifests contain none, because `kubectl apply` looks up all kinds before it creates the CRD.
   */
  readonly mode?: Mode | undefined;
  readonly hold?: string | undefined;
  readonly singleNode?: boolean;
  readonly hostNetwork?: boolean;
  /** Whether the guard may read MachineConfigs; true by default. */
  readonly machineconfigAccess?: boolean;
  /** Whether the webhook port is open to all addresses instead of the host network only. */
  readonly openNetwork?: boolean;
  /** The number after `1.`. Undefined includes only what every supported version has. */
  readonly kubernetesVersion?: number | undefined;
}

export type InstallationFile = ReturnType<typeof toFiles>[number];
export type Installation = ReturnType<typeof buildInstallation>;

const NAME = 'machineconfig-guard';
/** On the webhook configuration, which exists longer than the Deployment if somebody deletes the namespace. */
export const IMAGE_ANNOTATION = `${FLAG_LABEL_PREFIX}image`;
/** As in `serve --tls-secret` of components/generated. */
const AUTHORITY_SECRET = `${NAME}-ca`;
const SETTINGS_POLICY = 'settings.machineconfig-guard.io';
const CONTAINER = ['spec', 'template', 'spec', 'containers', 0] as const;
/** Objects come after those that they need, because `oc apply -f` does not retry. */
const ORDERED_KINDS = [
  'Namespace CustomResourceDefinition ServiceAccount ClusterRole ClusterRoleBinding Role RoleBinding ConfigMap Secret',
  'Service Deployment PodDisruptionBudget NetworkPolicy FlowSchema ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration',
].flatMap((kinds) => kinds.split(' '));
const NUMBERS_PER_KIND = 5;
const OTHER_FILE_NUMBER = 90;
/** MCO 4.14 deletes the config of a KubeletConfig before it removes the finalizer of the KubeletConfig. */
const IGNORE_REASON =
  'Kubernetes 1.27 (OpenShift 4.14) ignores matchConditions. With failurePolicy Fail, the Machine Config Operator ' +
  'could not delete source MachineConfigs while the guard is down. This version serves no policy floor';

/** Kinds that the guard works without, and the first version that serves them. */
export const NEWER_KINDS = [
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
 * @throws RangeError with a sentence if the cluster is too old
 */
export function buildInstallation(options: InstallationOptions) {
  const { profile, previousAuthority, kubernetesVersion = 0 } = options;
  const hasGuard = isGuardProfile(profile);
  const manifests = buildManifests(hasGuard ? chooseDirectories(options) : [getDirectory(profile, options.tls)]);
  const omitted = NEWER_KINDS.filter(({ since }) => kubernetesVersion < since);
  const needed = omitted.find(({ kinds }) =>
    manifests.some((manifest) => kinds.includes(String(manifest.get('kind')))),
  );
  if (needed !== undefined) {
    const nextStep = kubernetesVersion === 0 ? 'set --openshift-version' : 'use fail-closed';
    throw new RangeError(`the profile ${profile} needs ${needed.requirement}; ${nextStep}`);
  }
  const failurePolicy = hasGuard ? configureGuard(manifests, options) : null;
  const isOpenByVersion = failurePolicy === 'Ignore' && profile === 'fail-closed';
  return {
    files: toFiles(manifests, getFilePrefix(profile), previousAuthority !== undefined),
    /** What the API server does with deletions while the guard is down: `Ignore` allows them. Null without a guard. */
    failurePolicy,
    warnings: isOpenByVersion ? [`failurePolicy is Ignore: ${IGNORE_REASON}`] : [],
    omittedObjects: (hasGuard ? omitted : []).map(({ kinds, requirement }) => {
      const reason = kubernetesVersion === 0 ? '--openshift-version is not set' : 'the cluster is older';
      return `${kinds.join(' and ')}: needs ${requirement}, but ${reason}`;
    }),
  };
}

function configureGuard(manifests: Manifest[], options: InstallationOptions) {
  const { authority, previousAuthority, mode, hold, image } = options;
  const deployment = findByKind(manifests, 'Deployment');
  const webhook = findByKind(manifests, 'ValidatingWebhookConfiguration');
  deployment.setIn([...CONTAINER, 'image'], image);
  setMetadata(webhook, 'annotations', { [IMAGE_ANNOTATION]: image ?? '' });
  for (const [flag, value] of Object.entries({ mode, hold })) {
    if (value === undefined) continue;
    deployment.addIn([...CONTAINER, 'args'], `--initial-${flag}=${value}`);
    for (const manifest of manifests) setMetadata(manifest, 'labels', { [FLAG_LABEL_PREFIX + flag]: value });
  }
  // Lets the policy, if the version has it, accept the MachineConfigGuard that the guard creates.
  const policy = manifests.find((manifest) => manifest.getIn(['metadata', 'name']) === SETTINGS_POLICY);
  for (const [index, value] of [mode, hold].entries()) {
    if (value !== undefined) policy?.setIn(['spec', 'variables', index, 'expression'], `'${value}'`);
  }
  if (authority !== undefined) {
    const trusted = previousAuthority === undefined ? [authority] : [previousAuthority, authority];
    const caBundle = trusted.map(({ certificatePem }) => `${certificatePem.trim()}\n`).join('');
    webhook.setIn(['webhooks', 0, 'clientConfig', 'caBundle'], encodeBase64(caBundle));
    const comment = ' The authority that signs the serving certificate of each replica. Keep it secret.';
    const labels = webhook.getIn(['metadata', 'labels'], true) as object;
    const metadata = { name: AUTHORITY_SECRET, namespace: NAME, labels };
    manifests.push(createAuthoritySecret(comment, metadata, authority));
  }
  return webhook.getIn(['webhooks', 0, 'failurePolicy']) as 'Fail' | 'Ignore';
}

function chooseDirectories(options: InstallationOptions): string[] {
  const { profile, authority, machineconfigAccess = true, kubernetesVersion = MATCH_CONDITIONS } = options;
  const hasFloor = profile === 'fail-open-with-floor';
  // The build fails with the component of an older release. `buildInstallation` rejects it with a sentence.
  const version = hasFloor ? ADMISSION_POLICY : kubernetesVersion;
  const components = {
    'service-ca': authority === undefined,
    generated: authority !== undefined,
    'single-node': options.singleNode,
    'host-network': options.hostNetwork,
    'no-machineconfig-access': !machineconfigAccess,
    'open-network': options.openNetwork,
    // Each of these includes those of the newer releases.
    'openshift-4.14': version < MATCH_CONDITIONS,
    'openshift-4.15': version >= MATCH_CONDITIONS && version < FLOW_SCHEMA,
    'openshift-4.16': version >= FLOW_SCHEMA && version < ADMISSION_POLICY,
    'fail-open-with-floor': hasFloor,
  };
  const names = Object.entries(components).filter(([, isChosen]) => isChosen === true);
  return ['base', ...names.map(([name]) => `components/${name}`)];
}

function findByKind(manifests: readonly Manifest[], kind: string): Manifest {
  const manifest = manifests.find((candidate) => candidate.get('kind') === kind);
  if (manifest === undefined) throw new Error(`manifests/ has no ${kind}`);
  return manifest;
}

export function formatStream(files: readonly OutputFile[]): string {
  return files.map(({ content }) => content).join('---\n');
}

function getFilePrefix(profile: Profile): string {
  return isGuardProfile(profile) ? `99_${NAME}` : `99_${NAME}-${profile}`;
}

/** Whether a file is of this profile, or of another one that it replaces, and not of the user. */
export function isOwnFile(name: string, profile: Profile): boolean {
  const prefix = getFilePrefix(profile);
  return name.startsWith(prefix) && /^-\d\d-[a-z]+\.yaml$/.test(name.slice(prefix.length));
}

function toFiles(manifests: readonly Manifest[], prefix: string, isRotation: boolean) {
  const countByKind = new Map<string, number>();
  const files = manifests.map((manifest) => {
    const kind = String(manifest.get('kind'));
    const count = countByKind.get(kind) ?? 0;
    countByKind.set(kind, count + 1);
    const position = ORDERED_KINDS.indexOf(kind);
    // The API servers must trust the new authority before a replica reads the new Secret.
    const isFirst = isRotation && kind === 'ValidatingWebhookConfiguration';
    const number = isFirst ? 1 : (position < 0 ? OTHER_FILE_NUMBER : position * NUMBERS_PER_KIND) + count;
    return {
      name: `${prefix}-${String(number).padStart(2, '0')}-${kind.toLowerCase()}.yaml`,
      content: manifest.toString({ lineWidth: 0, flowCollectionPadding: false }),
      isPrivate: kind === 'Secret' && manifest.has('data'),
      kind,
      objectName: String(manifest.getIn(['metadata', 'name'])),
    };
  });
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}
