import { parseAllDocuments } from 'yaml';

import type { KubeObject } from '../control-plane/kube-client.ts';
import { readModuleFiles, type ModuleFiles } from '../control-plane/module-files.ts';

const PROMETHEUS_FOLDER = 'example/prometheus-operator-crd';
const CRDS = {
  'argo-cd': {
    module: 'github.com/argoproj-labs/argocd-operator@v0.15.0',
    files: ['config/crd/bases/argoproj.io_applications.yaml', 'config/crd/bases/argoproj.io_argocds.yaml'],
  },
  'cert-manager': {
    module: 'github.com/cert-manager/cert-manager@v1.17.2',
    files: ['deploy/crds/crd-certificates.yaml', 'deploy/crds/crd-issuers.yaml'],
  },
  // A commit of its own, because the cache of a module has only the files of one project.
  'openshift-config': {
    module: 'github.com/openshift/api@v0.0.0-20250225181102-cb44c196e68f',
    files: ['config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_apiservers.crd.yaml'],
  },
  'open-cluster-management': {
    module: 'open-cluster-management.io/api@v1.0.0',
    files: [
      'cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml',
      'cluster/v1beta2/0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml',
    ],
  },
  'open-cluster-management-policies': {
    module: 'open-cluster-management.io/governance-policy-propagator@v0.16.0',
    files: [
      'deploy/crds/policy.open-cluster-management.io_placementbindings.yaml',
      'deploy/crds/policy.open-cluster-management.io_policies.yaml',
    ],
  },
  'prometheus-operator': {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.82.0',
    files: [
      `${PROMETHEUS_FOLDER}/monitoring.coreos.com_servicemonitors.yaml`,
      `${PROMETHEUS_FOLDER}/monitoring.coreos.com_prometheusrules.yaml`,
    ],
  },
} as const satisfies Record<string, ModuleFiles>;

/** A project whose kinds some overlays or docs/fleet use. */
export type ForeignProject = keyof typeof CRDS;

export const FOREIGN_PROJECTS = Object.keys(CRDS) as readonly ForeignProject[];

/** The CRDs of a project, from its Go module. */
export async function readForeignCrds(project: ForeignProject) {
  return (await readModuleFiles(CRDS[project])).map(parseCrd);
}

/** The files of cert-manager are Helm templates. Their lines with expressions are labels and conditions. */
function parseCrd(text: string): KubeObject {
  const plain = text.replaceAll(/^.*\{\{.*$/gm, '');
  const objects = parseAllDocuments(plain).map((document) => document.toJS() as KubeObject | null);
  return objects.find((object) => object?.kind === 'CustomResourceDefinition') as KubeObject;
}
