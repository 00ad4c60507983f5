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

/** @param id `apiVersion/kind/namespace/name` */
export function isRenderInput(id: string): boolean {
  return RENDER_INPUTS.some((pattern) => pattern.test(id));
}

/** Returns what the bootstrap host reads instead of the object, in some releases. */
export function findClusterInput(id: string, fileName: string): string | undefined {
  return CLUSTER_INPUTS.find(([pattern, source]) => pattern.test(id) && !source.endsWith(`/${fileName}`))?.[1];
}
