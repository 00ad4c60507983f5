import { readCrds, type ModuleFiles } from '../control-plane/module-files.ts';

const PROMETHEUS_FOLDER = 'example/prometheus-operator-crd';
const OPENSHIFT_API = 'github.com/openshift/api@v0.0.0-20250225181102-cb44c196e68f';
const OPENSHIFT_CONFIG_FOLDER = 'config/v1/zz_generated.crd-manifests';
const OPEN_CLUSTER_MANAGEMENT = 'open-cluster-management.io/api@v1.0.0';
const CRDS = {
  'cert-manager': {
    module: 'github.com/cert-manager/cert-manager@v1.17.2',
    files: ['deploy/crds/crd-certificates.yaml', 'deploy/crds/crd-issuers.yaml'],
  },
  'openshift-config': {
    module: OPENSHIFT_API,
    files: [`${OPENSHIFT_CONFIG_FOLDER}/0000_10_config-operator_01_apiservers.crd.yaml`],
  },
  'openshift-mirrors': {
    module: OPENSHIFT_API,
    files: [`${OPENSHIFT_CONFIG_FOLDER}/0000_10_config-operator_01_imagedigestmirrorsets.crd.yaml`],
  },
  'open-cluster-management': {
    module: OPEN_CLUSTER_MANAGEMENT,
    files: [
      'cluster/v1/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml',
      'cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml',
      'cluster/v1beta2/0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml',
    ],
  },
  'open-cluster-management-claims': {
    module: OPEN_CLUSTER_MANAGEMENT,
    files: ['cluster/v1alpha1/0000_02_clusters.open-cluster-management.io_clusterclaims.crd.yaml'],
  },
  'open-cluster-management-configuration': {
    module: 'open-cluster-management.io/config-policy-controller@v0.16.0',
    files: [
      'deploy/crds/policy.open-cluster-management.io_configurationpolicies.yaml',
      'deploy/crds/policy.open-cluster-management.io_operatorpolicies.yaml',
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
  siteconfig: {
    module: 'github.com/stolostron/siteconfig@v0.0.0-20241003162917-06ef126f7eba',
    files: ['config/crd/bases/siteconfig.open-cluster-management.io_clusterinstances.yaml'],
  },
  'topology-aware-lifecycle-manager': {
    module: 'github.com/openshift-kni/cluster-group-upgrades-operator@v0.0.0-20240918194836-a0a3f896c283',
    files: ['config/crd/bases/ran.openshift.io_clustergroupupgrades.yaml'],
  },
} as const satisfies Record<string, ModuleFiles>;

/** A project whose kinds some overlays or docs/fleet use. */
export type ForeignProject = keyof typeof CRDS;

/** The CRDs of a project, from its Go module. */
export function readForeignCrds(project: ForeignProject) {
  return readCrds(CRDS[project]);
}
