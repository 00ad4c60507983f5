import type { Mode } from '../decision/settings.ts';
import type { Authority } from '../certificates/authority.ts';
import type { OutputFile } from './output-directory.ts';
import { ADMISSION_POLICY, FLOW_SCHEMA, isAtLeast, type KubernetesVersion } from './kubernetes-version.ts';
import { buildManifests, type Manifest } from './kustomization.ts';
import { createManifest } from './new-manifest.ts';

/** What happens to deletions while the guard does not answer. */
export type Profile = 'fail-closed' | 'fail-open-with-floor';

/** What an installation is to be like. */
export interface InstallationOptions {
  readonly image: string;
  readonly profile: Profile;
  /** The authority for the guard's certificates; undefined where OpenShift's service CA is to make them. */
  readonly authority: Authority | undefined;
  /** Written into a MachineConfigGuard where it is given; else the guard makes that object, with the defaults. */
  readonly mode: Mode | undefined;
  readonly singleNode: boolean;
  readonly hostNetwork: boolean;
  /** Of the cluster; undefined where it is not known. */
  readonly kubernetesVersion: KubernetesVersion | undefined;
}

/** One object of the set. */
export interface InstallationFile extends OutputFile {
  readonly kind: string;
  readonly objectName: string;
}

/** The set, and what somebody may miss in it. */
export interface Installation {
  readonly files: readonly InstallationFile[];
  readonly leftOut: readonly string[];
}

/** These options exclude each other. The message is a sentence. */
export class InvalidInstallation extends Error {
  override readonly name = 'ImpossibleInstallation';
}

/** The names of the files of any set: an installer's directory may hold others' files too. */
export const OWN_FILE_NAME = /^99_machineconfig-guard-\d\d-[a-z]+\.yaml$/;

const NAME = 'machineconfig-guard';
/** The authority's Secret, as `serve --tls-secret` of components/generated names it. */
const AUTHORITY_SECRET = `${NAME}-ca`;

/**
 * The first number of each kind: objects come after what they need. Installers try again until everything fits, `oc apply -f`
 * does not. The webhook is the last that matters: nothing is asked of the guard before the guard is there.
 */
const FIRST_NUMBER: Readonly<Record<string, number>> = {
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
  MachineConfigGuard: 90,
};
const NUMBERS_A_KIND = 5;

/**
 * The manifests for an installer's directory: one object a file, all of it in one piece. Only kinds that every API server knows
 * from its first second (and our own): an object that can never be applied fails the whole install.
 * Throws an {@link InvalidInstallation}.
 */
export function buildInstallation(options: InstallationOptions): Installation {
  const { profile, authority, mode, image, kubernetesVersion } = options;
  if (profile === 'fail-open-with-floor' && !isAtLeast(kubernetesVersion, ADMISSION_POLICY)) {
    const what =
      'the profile fail-open-with-floor needs ValidatingAdmissionPolicy, which Kubernetes has from 1.30 (OpenShift 4.17) on';
    const version =
      kubernetesVersion === undefined ? 'say which version the cluster has: --kubernetes-version' : 'use fail-closed';
    throw new InvalidInstallation(`${what}; ${version}.`);
  }
  const withFlowSchema = isAtLeast(kubernetesVersion, FLOW_SCHEMA);
  const manifests = buildManifests(directories(options)).filter(
    (manifest) => withFlowSchema || manifest.get('kind') !== 'FlowSchema',
  );
  the(manifests, 'Deployment').setIn(['spec', 'template', 'spec', 'containers', 0, 'image'], image);
  if (authority !== undefined) {
    manifests.push(authoritySecret(authority));
    const bundle = ['webhooks', 0, 'clientConfig', 'caBundle'];
    the(manifests, 'ValidatingWebhookConfiguration').setIn(bundle, base64(authority.certificatePem));
  }
  if (mode !== undefined) manifests.push(guardInMode(mode));
  return { files: toFiles(manifests), leftOut: withFlowSchema ? [] : [missingFlowSchema(kubernetesVersion)] };
}

function directories({ profile, authority, singleNode, hostNetwork }: InstallationOptions): string[] {
  return [
    'base',
    authority === undefined ? 'components/service-ca' : 'components/generated',
    ...(profile === 'fail-open-with-floor' ? ['overlays/policy-floor', 'components/fail-open'] : []),
    ...(singleNode ? ['components/single-node'] : []),
    ...(hostNetwork ? ['components/host-network'] : []),
  ];
}

function missingFlowSchema(version: KubernetesVersion | undefined): string {
  const why = version === undefined ? 'no --kubernetes-version was given' : 'the cluster is older';
  return `FlowSchema: it needs Kubernetes 1.29 (OpenShift 4.16), and ${why}`;
}

function the(manifests: readonly Manifest[], kind: string): Manifest {
  const found = manifests.find((manifest) => manifest.get('kind') === kind);
  if (found === undefined) throw new Error(`manifests/ has no ${kind}`);
  return found;
}

function authoritySecret({ certificatePem, privateKeyPem }: Authority): Manifest {
  return createManifest(' The authority from which each replica issues its own serving certificate. Keep it secret.', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: AUTHORITY_SECRET, namespace: NAME, labels: { 'app.kubernetes.io/name': NAME } },
    type: 'Opaque',
    data: { 'ca.crt': base64(certificatePem), 'ca.key': base64(privateKeyPem) },
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function guardInMode(mode: Mode): Manifest {
  return createManifest(' Applying this again sets the mode again.', {
    apiVersion: 'machineconfig-guard.io/v1alpha1',
    kind: 'MachineConfigGuard',
    metadata: { name: 'cluster' },
    spec: { mode },
  });
}

function toFiles(manifests: readonly Manifest[]): InstallationFile[] {
  const files = manifests.map((manifest, index) => {
    const kind = String(manifest.get('kind'));
    const before = manifests.slice(0, index).filter((other) => other.get('kind') === kind).length;
    const first = FIRST_NUMBER[kind];
    if (first === undefined || before >= NUMBERS_A_KIND) throw new Error(`there is no file name for this ${kind}`);
    const number = String(first + before).padStart(2, '0');
    return {
      name: `99_${NAME}-${number}-${kind.toLowerCase()}.yaml`,
      content: manifest.toString({ lineWidth: 0, flowCollectionPadding: false }),
      secret: kind === 'Secret',
      kind,
      objectName: String(manifest.getIn(['metadata', 'name'])),
    };
  });
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}
