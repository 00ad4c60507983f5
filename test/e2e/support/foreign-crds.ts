import { readCrds, type ModuleFiles } from '../control-plane/module-files.ts';

const OPENSHIFT_API = 'github.com/openshift/api@v0.0.0-20250225181102-cb44c196e68f';
const OPENSHIFT_PREFIX = 'config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_';
const CLUSTER_API = 'open-cluster-management.io/api@v1.0.0';
const POLICY_PREFIX = 'deploy/crds/policy.open-cluster-management.io_';
const CRDS = {
  'cert-manager': files('github.com/cert-manager/cert-manager@v1.17.2', 'deploy/crds/crd-', [
    'certificates.yaml',
    'issuers.yaml',
  ]),
  'openshift-config': files(OPENSHIFT_API, OPENSHIFT_PREFIX, ['apiservers.crd.yaml']),
  'openshift-mirrors': files(OPENSHIFT_API, OPENSHIFT_PREFIX, ['imagedigestmirrorsets.crd.yaml']),
  'open-cluster-management': files(CLUSTER_API, 'cluster/', [
    'v1/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml',
    'v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml',
    'v1beta2/0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml',
  ]),
  'open-cluster-management-policies': files(
    'open-cluster-management.io/governance-policy-propagator@v0.16.0',
    POLICY_PREFIX,
    ['placementbindings.yaml', 'policies.yaml'],
  ),
  'prometheus-operator': files(
    'github.com/prometheus-operator/prometheus-operator@v0.82.0',
    'example/prometheus-operator-crd/monitoring.coreos.com_',
    ['servicemonitors.yaml', 'prometheusrules.yaml'],
  ),
  'topology-aware-lifecycle-manager': files(
    'github.com/openshift-kni/cluster-group-upgrades-operator@v0.0.0-20240918194836-a0a3f896c283',
    'config/crd/bases/',
    ['ran.openshift.io_clustergroupupgrades.yaml'],
  ),
};

function files(module: string, prefix: string, names: readonly string[]): ModuleFiles {
  return { module, files: names.map((name) => `${prefix}${name}`) };
}

/** A project whose kinds some overlays or docs/fleet use. */
export type ForeignProject = keyof typeof CRDS;

/** The CRDs of a project, from its Go module. */
export function readForeignCrds(project: ForeignProject) {
  return readCrds(CRDS[project]);
}
