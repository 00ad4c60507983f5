/** Kinds as `group Kind`. The group of Kubernetes' first kinds is empty. */
export const MACHINE_CONFIG = 'machineconfiguration.openshift.io MachineConfig';
export const POOL = 'machineconfiguration.openshift.io MachineConfigPool';
export const KUBELET_CONFIG = 'machineconfiguration.openshift.io KubeletConfig';
export const RUNTIME_CONFIG = 'machineconfiguration.openshift.io ContainerRuntimeConfig';

/**
 * What the bootstrap host renders configs from: `Run` in pkg/controller/bootstrap/bootstrap.go of the
 * machine-config-operator, from 4.15 (7e1fb719c1ba) on unless noted. Not a Secret or an ImageStream: main reads only
 * those that the installer writes.
 */
export const RENDER_INPUTS: ReadonlySet<string> = new Set([
  MACHINE_CONFIG,
  POOL,
  KUBELET_CONFIG,
  RUNTIME_CONFIG,
  'machineconfiguration.openshift.io ControllerConfig',
  // Main (02910734e11d).
  'machineconfiguration.openshift.io InternalReleaseImage',
  'machineconfiguration.openshift.io MachineOSConfig',
  'machineconfiguration.openshift.io OSImageStream',
  'config.openshift.io FeatureGate',
  'config.openshift.io Image',
  'config.openshift.io ImageDigestMirrorSet',
  'config.openshift.io ImageTagMirrorSet',
  'config.openshift.io Node',
  'operator.openshift.io ImageContentSourcePolicy',
  // 4.19 (9026ff2d802e; #4435, #4160, #4587).
  'config.openshift.io APIServer',
  'config.openshift.io ClusterImagePolicy',
  'config.openshift.io ImagePolicy',
  // From the files of the installer, in CLUSTER_INPUTS.
  'config.openshift.io DNS',
  'config.openshift.io Infrastructure',
  'config.openshift.io Network',
  'config.openshift.io Proxy',
  // By the node tuning operator with the same parser (pkg/performanceprofile/cmd/render; openshift/installer#6691).
  'performance.openshift.io PerformanceProfile',
]);

/**
 * The files from which the bootstrap host reads an object, by its type or its ID
 * (cmd/machine-config-operator/bootstrap.go of 4.15 to 4.20).
 */
export const INSTALLER_FILES: Readonly<Record<string, string>> = {
  'config.openshift.io DNS': 'manifests/cluster-dns-02-config.yml',
  // It reads other files with one, too, but the installer always writes this one (pkg/asset/manifests/featuregate.go).
  'config.openshift.io FeatureGate': 'openshift/99_feature-gate.yaml',
  'config.openshift.io Infrastructure': 'manifests/cluster-infrastructure-02-config.yml',
  'config.openshift.io Network': 'manifests/cluster-network-02-config.yml',
  'config.openshift.io Proxy': 'manifests/cluster-proxy-01-config.yaml',
  'v1/ConfigMap/openshift-config/user-ca-bundle': 'manifests/user-ca-bundle-config.yaml',
  // MCO#5487.
  'config.openshift.io CRIOCredentialProviderConfig': '/no such object',
};

/** Groups of clients, or of a hub that installs clusters. */
export const CLIENT_GROUP =
  /^(?:ku\w+\.config\.k8s|(?:agent-install|\S*hive|hiveinternal|ran)\.openshift|\w+\.open-cluster-\w+)\.io$/;
export const CLIENT_KINDS: ReadonlySet<string> = new Set([
  'AgentConfig',
  'ClusterInstance',
  'Kustomization',
  'NMStateConfig',
]);

/** Groups of every new cluster whose kinds, or some of them, are not in the schemas. */
export const UNLISTED_GROUPS = new RegExp(
  `^(?:${[
    'operator\\.openshift|\\S+\\.operator\\.openshift|machine\\.openshift|autoscaling\\.openshift',
    'cloudcredential\\.openshift|quota\\.openshift|\\S+\\.cncf|metal3|\\S+\\.metal3',
    'snapshot\\.storage\\.k8s|\\S+\\.networking\\.k8s|migration\\.k8s|(?:\\S+\\.)?metrics\\.k8s',
    '(?:\\S+\\.)?cluster\\.x-k8s|olm\\.operatorframework|populator\\.storage\\.k8s|resource\\.k8s',
  ].join('|')})\\.io$|^(?:\\S+\\.coreos\\.com|k8s\\.ovn\\.org)$`,
);
/** Of these, the kinds in a namespace. */
export const NAMESPACED_GROUPS =
  /^(?:metal3\.io|cloudcredential\.openshift\.io|k8s\.cni\.cncf\.io|monitoring\.coreos\.com)$/;
/** Groups of Kubernetes and OpenShift. Nobody else can define kinds in one of Kubernetes. */
export const OWN_GROUP = /^(?:[a-z]*|.*\.(?:k8s|openshift)\.io|metal3\.io)$/;

/** The names of the namespaces of every new cluster begin so. */
export const NAMESPACES = new RegExp(
  `^(?:default|kube-|openshift$|openshift-(?:${[
    'apiserver|authentication|catalogd|cloud-|cluster-|config|console|controller-|dns|etcd|host-network|image-registry',
    'infra$|ingress|insights|kni-infra|kube-|machine-|marketplace|monitoring|multus|network-|node$|nutanix-infra',
    'oauth-|openstack-infra|operator-|operators$|ovirt-infra|ovn-|route-|sdn|service-ca|user-workload-|vsphere-infra',
  ].join('|')}))`,
);

/** What the operator writes for a role in every cluster, and for a KubeletConfig or a ContainerRuntimeConfig. */
export const OPERATOR_NAME =
  /^(?:00-ROLE|01-ROLE-(?:kubelet|container-runtime)|9[78]-ROLE-generated-kubelet|99-ROLE-generated-registries)$/;
export const KIND_BY_OPERATOR_NAME: Readonly<Record<string, string>> = {
  '99-ROLE-generated-kubelet': KUBELET_CONFIG,
  '99-ROLE-generated-containerruntime': RUNTIME_CONFIG,
};
/** What the installer writes in files of its own (pkg/asset/machines/machineconfig), which it adds to others later. */
export const INSTALLER_NAME = /^99-(?:master|worker|arbiter)-(?:ssh|disable-hyperthreading|fips)$/;
