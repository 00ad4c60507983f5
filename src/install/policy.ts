import {
  buildInstallation,
  type Installation,
  type InstallationFile,
  type InstallationOptions,
  NEWER_KINDS,
} from './installation.ts';
import { ADMISSION_POLICY, MATCH_CONDITIONS } from './kubernetes-version.ts';
import { isGuardProfile } from './profiles.ts';
import { readPackageFile } from '../files/package-file.ts';

/** The first version that gets the objects. Before, the webhook would also hold up deletions of source configs. */
const SINCE = [...NEWER_KINDS, { kinds: ['ValidatingWebhookConfiguration'], since: MATCH_CONDITIONS }];

const NAME = 'machineconfig-guard';

/**
 * Builds a Policy of Open Cluster Management whose template chooses the objects of each cluster. The Topology Aware
 * Lifecycle Manager parses the template as YAML, without everything in double braces.
 */
export function buildPolicy(options: InstallationOptions): Installation {
  const newest = { ...options, kubernetesVersion: ADMISSION_POLICY };
  const singleNode = buildInstallation({ ...newest, singleNode: true }).files.map(formatItem);
  const multiNode = buildInstallation(newest);
  const items = multiNode.files.map(formatItem).map((item, index) => {
    const other = singleNode[index];
    if (item === other) return item;
    const topology = 'fromClusterClaim "controlplanetopology.openshift.io"';
    return `{{- if eq (${topology}) "SingleReplica" }}\n${other}{{- else }}\n${item}{{- end }}\n`;
  });
  const objectName = isGuardProfile(options.profile) ? NAME : `${NAME}-${options.profile}`;
  const header = readPackageFile('manifests/policy.yaml').replaceAll(`name: ${NAME}\n`, `name: ${objectName}\n`);
  const content = header + indent(12, items.join(''));
  return { ...multiNode, files: [{ name: 'policy.yaml', content, isPrivate: false, kind: 'Policy', objectName }] };
}

function formatItem({ kind, content }: InstallationFile): string {
  const item = `- complianceType: musthave\n  objectDefinition:\n${indent(4, content)}`;
  const { since } = SINCE.find(({ kinds }) => kinds.includes(kind)) ?? {};
  if (since === undefined) return item;
  const version = 'fromClusterClaim "kubeversion.open-cluster-management.io"';
  return `{{- if semverCompare ">=1.${since}.0-0" (${version}) }}\n${item}{{- end }}\n`;
}

function indent(spaces: number, text: string): string {
  return text.replaceAll(/^(?=.)/gm, ' '.repeat(spaces));
}
