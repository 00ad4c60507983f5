import { parseDocument } from 'yaml';
import { buildInstallation, formatStream, type InstallationOptions } from '../../src/install/installation.ts';
import { parseOpenShiftVersion } from '../../src/install/kubernetes-version.ts';

const VERSION_LABEL = 'app.kubernetes.io/version';

/** The installations that a release contains as one file each, by the name of the file. */
const OPTIONS_BY_FILE = {
  'install.yaml': {},
  'install-fail-open-with-floor.yaml': { profile: 'fail-open-with-floor' },
  'install-host-network.yaml': { hostNetwork: true },
  'install-openshift-4.14.yaml': { kubernetesVersion: parseOpenShiftVersion('4.14') },
  'install-openshift-4.15.yaml': { kubernetesVersion: parseOpenShiftVersion('4.15') },
  'install-openshift-4.16.yaml': { kubernetesVersion: parseOpenShiftVersion('4.16') },
  'install-single-node.yaml': { singleNode: true },
} as const satisfies Readonly<Record<string, Partial<InstallationOptions>>>;

export type InstallFile = keyof typeof OPTIONS_BY_FILE;

export const INSTALL_FILES = Object.keys(OPTIONS_BY_FILE) as readonly InstallFile[];

/**
 * Renders all objects of an installation for a running cluster, with certificates of OpenShift's service CA. Every
 * object and the pods have the label of the version.
 * @param image by digest
 */
export function renderInstallFile(name: InstallFile, image: string, version: string): string {
  const { files } = buildInstallation({
    profile: 'fail-closed',
    // The oldest version with all kinds of objects.
    kubernetesVersion: parseOpenShiftVersion('4.17'),
    ...OPTIONS_BY_FILE[name],
    image,
    authority: undefined,
  });
  const header = `# machineconfig-guard ${version}. Apply it with: oc apply -f ${name}\n`;
  return header + formatStream(files.map((file) => ({ ...file, content: addVersion(file.content, version) })));
}

/** Adds the label to the object, and to the pods of a Deployment. */
function addVersion(content: string, version: string): string {
  const document = parseDocument(content, { schema: 'yaml-1.1' });
  for (const metadata of [['metadata'], ['spec', 'template', 'metadata']]) {
    if (!document.hasIn(metadata)) continue;
    const labels = [...metadata, 'labels'];
    if (!document.hasIn(labels)) document.setIn(labels, document.createNode({}));
    document.setIn([...labels, VERSION_LABEL], version);
  }
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}
