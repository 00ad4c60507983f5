/**
 * What the bootstrap host renders configs from: `Run` in pkg/controller/bootstrap/bootstrap.go of the
 * machine-config-operator, from 4.15 (7e1fb719c1ba) on unless noted. Not a Secret or an ImageStream: main reads only
 * those that the installer writes.
 */
const RENDER_INPUTS = [
  /^machineconfiguration\.\S+\/(?:MachineConfig|MachineConfigPool|ControllerConfig)\//,
  /^machineconfiguration\.\S+\/(?:ContainerRuntimeConfig|KubeletConfig)\//,
  // Main (02910734e11d).
  /^machineconfiguration\.\S+\/(?:InternalReleaseImage|MachineOSConfig|OSImageStream)\//,
  // The last four from the files below.
  /^config\.\S+\/(?:FeatureGate|Image|ImageDigestMirrorSet|ImageTagMirrorSet|Node|DNS|Infrastructure|Network|Proxy)\//,
  // 4.19 (9026ff2d802e; #4435, #4160, #4587).
  /^config\.\S+\/(?:APIServer|ClusterImagePolicy|ImagePolicy)\//,
  /^operator\.\S+\/ImageContentSourcePolicy\//,
  // By the node tuning operator with the same parser (pkg/performanceprofile/cmd/render; openshift/installer#6691).
  /^performance\.\S+\/PerformanceProfile\//,
];

/** What only the cluster renders from, and what the bootstrap host reads instead. */
const CLUSTER_INPUTS = [
  // cmd/machine-config-operator/bootstrap.go, 4.15 to 4.20; openshift/installer#2257.
  [/^config\.\S+\/DNS\//, 'manifests/cluster-dns-02-config.yml'],
  [/^config\.\S+\/Infrastructure\//, 'manifests/cluster-infrastructure-02-config.yml'],
  [/^config\.\S+\/Network\//, 'manifests/cluster-network-02-config.yml'],
  [/^config\.\S+\/Proxy\//, 'manifests/cluster-proxy-01-config.yaml'],
  // Rendered by 4.19, not by 4.15 (templates/common/_base/files/additional-trust-bundle.yaml).
  [/^v1\/ConfigMap\/openshift-config\/user-ca-bundle$/, 'manifests/user-ca-bundle-config.yaml'],
  [/^config\.\S+\/v1alpha1\/(?:ClusterImagePolicy|ImagePolicy)\//, 'version v1 from 4.20 on (MCO#5143)'],
  [/^config\.\S+\/CRIOCredentialProviderConfig\//, 'no such object, from 4.22 on (MCO#5487)'],
] as const;

/** What the operator writes for a role in every cluster, and for a KubeletConfig or a ContainerRuntimeConfig. */
const OPERATOR_NAME =
  /^(?:00-ROLE|01-ROLE-(?:kubelet|container-runtime)|9[78]-ROLE-generated-kubelet|99-ROLE-generated-registries)$/;
const KIND_BY_NAME = new Map([
  ['99-ROLE-generated-kubelet', 'KubeletConfig'],
  ['99-ROLE-generated-containerruntime', 'ContainerRuntimeConfig'],
]);

/** What the installer writes in files of its own (pkg/asset/machines/machineconfig), which it adds to others later. */
const INSTALLER_NAME = /^99-(?:master|worker|arbiter)-(?:ssh|disable-hyperthreading|fips)$/;

/** The only apiVersions of kinds. A version v1alpha1 of the first ones has other kinds. */
const SERVED: Readonly<Record<string, RegExp>> = {
  'machineconfiguration.openshift.io/v1': /^(?:MachineConfig(?:Pool)?|KubeletConfig|ContainerRuntimeConfig)$/i,
  'config.openshift.io/v1': /^(?:FeatureGate|Image(?:Digest|Tag)MirrorSet|APIServer|Infrastructure|Scheduler|OAuth)$/i,
  'operator.openshift.io/v1alpha1': /^ImageContentSourcePolicy$/i,
  v1: /^(?:ConfigMap|Secret|Namespace|ServiceAccount|Pod)$/i,
  'apps/v1': /^(?:DaemonSet|Deployment|StatefulSet)$/i,
  'rbac.authorization.k8s.io/v1': /^(?:Cluster)?Role(?:Binding)?$/i,
};
const NAMESPACED = new RegExp(
  `^(?:${[
    'v1/(?:ConfigMap|Endpoints|LimitRange|PersistentVolumeClaim|Pod|ResourceQuota|Secret|Service(?:Account)?)',
    '(?:apps|batch|coordination\\.k8s\\.io|machine\\.openshift\\.io|monitoring\\.coreos\\.com|policy/v1)/.*',
    'rbac\\.\\S+/(?:Role|RoleBinding)|networking\\.k8s\\.io/\\w+/(?:Ingress|NetworkPolicy)|route\\.\\S+|tuned\\.\\S+',
    'operators\\.coreos\\.com/\\w+/(?:CatalogSource|ClusterServiceVersion|InstallPlan|OperatorGroup|Subscription)',
    '(?:autoscaling|cloudcredential|config)\\.\\S+/(?:CredentialsRequest|ImagePolicy|MachineAutoscaler)',
    'operator\\.openshift\\.io/v1/IngressController|metal3\\.io/\\w+/(?:BareMetalHost|PreprovisioningImage)',
  ].join('|')})$`,
);
const CLUSTER_SCOPED = new RegExp(
  '^(?:v1/(?:Namespace|Node|PersistentVolume)/|rbac\\S+/Cluster|machineconfiguration|apiext|admission|' +
    'sched|storage|config\\.openshift\\.io/v\\w+/(?!ImagePolicy))',
);
/** Of a client or of a hub that installs clusters, by their group or their kind. */
const CLIENT_KINDS = [
  /^(?:ku\w+\.config\.k8s|(?:agent-install|\S*hive|ran)\.openshift|\w+\.open-cluster-\w+)\.io\//,
  /^(?:\S*(?:k8s|openshift)\.io\/)?v\w+\/(?:AgentConfig|ClusterInstance|Ku\w+ation|NMStateConfig)$/,
];
/** Of every new cluster, and not of an operator that somebody installs. */
const GROUPS =
  /^(?:[a-z]+|(?:\S+\.)?(?:(?:\S*k8s|openshift|metal3|operatorframework|cncf)\.io|coreos\.com|ovn\.org))\//;
const ADDED_GROUPS = new RegExp(
  '^(?:\\S+\\.olm|compliance|fileintegrity|hypershift|lca|local\\.storage|logging|multiarch|nfd|nodetopology|oadp|' +
    'observability|ocs|odf|ptp|sriovnetwork)\\.openshift',
);
/** The names of those of every new cluster begin so. */
const NAMESPACES = new RegExp(
  `^(?:default|kube-|openshift$|openshift-(?:${[
    'apiserver|authentication|catalogd|cloud-|cluster-|config|console|controller-|dns|etcd|host-network|image-registry',
    'infra$|ingress|insights|kni-infra|kube-|machine-|marketplace|monitoring|multus|network-|node$|nutanix-infra',
    'oauth-|openstack-infra|operator-|operators$|ovirt-infra|ovn-|route-|sdn|service-ca|user-workload-|vsphere-infra',
  ].join('|')}))`,
);

/** @param id `apiVersion/kind/namespace/name` */
export const isRenderInput = (id: string): boolean => RENDER_INPUTS.some((pattern) => pattern.test(id));

/** Returns what the bootstrap host reads instead of the object, in some releases. */
export function findClusterInput(id: string, fileName: string): string | undefined {
  return CLUSTER_INPUTS.find(([pattern, source]) => pattern.test(id) && !source.endsWith(`/${fileName}`))?.[1];
}

/** Returns the right apiVersion of a kind, if this one is wrong or the kind has another case. */
export function findServedVersion(apiVersion: string, kind: string): string | undefined {
  const [version, pattern] = Object.entries(SERVED).find(([, kinds]) => kinds.test(kind)) ?? [];
  const isRight = version === undefined || (version === apiVersion && new RegExp(pattern?.source ?? '').test(kind));
  // Other groups can have kinds of these names.
  const isOther = apiVersion === '' || apiVersion.startsWith('authorization.openshift.io/');
  return isRight || isOther || !/openshift|k8s|^v\d|^apps/.test(apiVersion) ? undefined : version;
}

export const isNamespaced = (apiVersion: string, kind: string) => NAMESPACED.test(`${apiVersion}/${kind}`);

/** Whether cluster-bootstrap ignores the namespace. */
export const isClusterScoped = (id: string) => CLUSTER_SCOPED.test(id);

export const isClientKind = (apiVersion: string, kind: string): boolean =>
  CLIENT_KINDS.some((pattern) => pattern.test(`${apiVersion}/${kind}`));

/** The group of an apiVersion. Undefined if every new cluster has it. */
export function findForeignGroup(apiVersion: string): string | undefined {
  const isBuiltIn = !apiVersion.includes('/') || (GROUPS.test(apiVersion) && !ADDED_GROUPS.test(apiVersion));
  return isBuiltIn ? undefined : apiVersion.split('/', 1)[0];
}

export const isExistingNamespace = (namespace: string) => NAMESPACES.test(namespace);

export const isInstallerName = (name: string, fileName: string): boolean =>
  INSTALLER_NAME.test(name) && !fileName.startsWith('99_openshift-machineconfig_');

/** @param isSelectedBy whether an object of the kind selects the pool of the role; only asked if the name needs it */
export function isOperatorName(name: string, role: string, isSelectedBy: (kind: string) => boolean): boolean {
  const pattern = name.replace(`-${role}`, '-ROLE');
  const kind = KIND_BY_NAME.get(pattern);
  return OPERATOR_NAME.test(pattern) || (kind !== undefined && isSelectedBy(kind));
}
