import { parse, parseAllDocuments } from 'yaml';
import { INSTALL_FILES, renderInstallFile } from '../../build/release/install-files.ts';
import { createAuthority } from '../../src/certificates/authority.ts';
import { buildInstallation, type InstallationOptions } from '../../src/install/installation.ts';
import { buildManifests } from '../../src/install/kustomization.ts';
import { parseOpenShiftVersion } from '../../src/install/kubernetes-version.ts';
import { isGuardProfile, PROFILES } from '../../src/install/profiles.ts';
import { DASHBOARD, findAll, listFiles } from '../docs/pages.ts';

/** An object that an installation creates, as it was parsed. */
export interface RenderedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** What one command, overlay or file of a release installs. */
export interface RenderedSet {
  readonly name: string;
  /** The set of which the golden file shows the differences. Undefined shows every object. */
  readonly basis?: string | undefined;
  readonly objects: readonly RenderedObject[];
  /** The files that `render` writes, in the order of the objects. Empty for an overlay. */
  readonly files: readonly string[];
}

const AUTHORITY = await createAuthority({ days: 3650, now: new Date('2026-11-21T12:00:00Z') });

/** The options of `render` for OpenShift 4.20, with the defaults of all others. */
export const RENDER_OPTIONS = {
  image: `registry.example.com/ops/machineconfig-guard@sha256:${'0123456789abcdef'.repeat(4)}`,
  profile: 'fail-closed',
  authority: AUTHORITY,
  kubernetesVersion: parseOpenShiftVersion('4.20'),
} satisfies InstallationOptions;

/** Each option of a guard by its flags. One pair is among them, because both change the strategy of the Deployment. */
const OPTIONS_BY_FLAGS: Readonly<Record<string, Partial<InstallationOptions>>> = {
  '--tls=service-ca': { authority: undefined },
  '--single-node': { singleNode: true },
  '--host-network': { hostNetwork: true },
  '--single-node --host-network': { singleNode: true, hostNetwork: true },
  '--no-machineconfig-access': { machineconfigAccess: false },
  '--open-network': { openNetwork: true },
  '--profile=fail-open-with-floor': { profile: 'fail-open-with-floor' },
  '--mode=Audit --hold=24h': { mode: 'Audit', hold: '24h' },
  '--new-authority': { previousAuthority: AUTHORITY },
  '--openshift-version=4.16': { kubernetesVersion: parseOpenShiftVersion('4.16') },
  '--openshift-version=4.15': { kubernetesVersion: parseOpenShiftVersion('4.15') },
  '--openshift-version=4.14': { kubernetesVersion: parseOpenShiftVersion('4.14') },
};

/** The profiles that only add to a guard. */
const OTHER_PROFILES = PROFILES.filter((profile) => !isGuardProfile(profile));

/** Every choice of options, and every profile. */
export const ALL_OPTIONS: readonly InstallationOptions[] = [
  RENDER_OPTIONS,
  ...Object.values(OPTIONS_BY_FLAGS).map((options) => ({ ...RENDER_OPTIONS, ...options })),
  ...OTHER_PROFILES.map((profile) => ({ profile, kubernetesVersion: RENDER_OPTIONS.kubernetesVersion })),
];

const MONITORING = 'render --profile=monitoring';
const PLAIN_OVERLAY = 'overlays/service-ca';

/** What an overlay adds something to. All others have the objects of the profile with their name. */
const BASIS_BY_OVERLAY: Readonly<Record<string, string>> = {
  'service-ca': 'render --tls=service-ca',
  'cert-manager': PLAIN_OVERLAY,
  'single-node': PLAIN_OVERLAY,
  'host-network': PLAIN_OVERLAY,
  'fail-open-with-floor': PLAIN_OVERLAY,
  monitoring: PLAIN_OVERLAY,
  'monitoring-rendered': MONITORING,
};

const OVERLAYS = findAll(listFiles('manifests/overlays').join('\n'), /^manifests\/overlays\/([^/\n]+)$/gm)
  .filter((name) => !DASHBOARD.includes(`/${name}/`))
  // The basis of others.
  .sort((a, b) => Number(`overlays/${b}` === PLAIN_OVERLAY) - Number(`overlays/${a}` === PLAIN_OVERLAY));

/** Renders everything that users install. Reads the files of manifests/ each time. */
export function buildRenderedSets(): readonly RenderedSet[] {
  return [
    render('render'),
    ...Object.entries(OPTIONS_BY_FLAGS).map(([flags, options]) => render(`render ${flags}`, options, 'render')),
    ...OTHER_PROFILES.map((profile) => render(`render --profile=${profile}`, { profile })),
    ...['generated', 'cert-manager'].map((tls) => {
      return render(`${MONITORING} (${tls})`, { profile: 'monitoring', tls }, MONITORING);
    }),
    ...OVERLAYS.map((name) => ({
      name: `overlays/${name}`,
      basis: BASIS_BY_OVERLAY[name] ?? `render --profile=${name}`,
      objects: buildManifests([`overlays/${name}`]).map((manifest) => manifest.toJS() as RenderedObject),
      files: [],
    })),
    ...INSTALL_FILES.map((name) => ({
      name,
      basis: name === 'install.yaml' ? PLAIN_OVERLAY : 'install.yaml',
      objects: parseStream(renderInstallFile(name, RENDER_OPTIONS.image, '0.0.0')),
      files: [],
    })),
  ];
}

function render(name: string, options: Partial<InstallationOptions> = {}, basis?: string): RenderedSet {
  const { files } = buildInstallation({ ...RENDER_OPTIONS, ...options });
  const objects = files.map(({ content }) => parse(content) as RenderedObject);
  return { name, basis, objects, files: files.map((file) => file.name) };
}

function parseStream(text: string): readonly RenderedObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as RenderedObject);
}
