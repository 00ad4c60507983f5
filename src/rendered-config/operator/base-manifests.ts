export interface OperatorFacts {
  readonly version: string;
  readonly featureGates: readonly string[];
}

/** The FeatureGate is for this release, whatever the release of the operator is. */
export const RELEASE_VERSION = '0.0.0';
export const PULL_SECRET = `apiVersion: v1
kind: Secret
metadata: { name: pull-secret, namespace: openshift-config }
type: kubernetes.io/dockerconfigjson
data: { .dockerconfigjson: e30= }
`;
const MCO = 'machineconfiguration.openshift.io';
const IMAGE = `example.com/image@sha256:${'0'.repeat(64)}`;

/**
 * What the operator renders besides the manifests of a user. Only the difference of two renders counts, so these are
 * those of no real cluster.
 */
export function createBaseManifests({ version, featureGates }: OperatorFacts): string {
  const disabled = featureGates.map((name) => `{ name: ${name} }`).join(', ');
  return `${createPool('master')}${createPool('worker')}apiVersion: config.openshift.io/v1
kind: FeatureGate
metadata: { name: cluster }
status: { featureGates: [{ version: ${RELEASE_VERSION}, enabled: [], disabled: [${disabled}] }] }
---
apiVersion: ${MCO}/v1
kind: ControllerConfig
metadata:
  name: machine-config-controller
  annotations: { ${MCO}/generated-by-version: '${version}', ${MCO}/release-image-version: ${RELEASE_VERSION} }
spec:
  baseOSContainerImage: ${IMAGE}
  baseOSExtensionsContainerImage: ${IMAGE}
  clusterDNSIP: 172.30.0.10
  dns: { spec: { baseDomain: example.com } }
  infra:
    spec: { platformSpec: { type: None } }
    status:
      apiServerInternalURI: https://api-int.example.com:6443
      apiServerURL: https://api.example.com:6443
      controlPlaneTopology: HighlyAvailable
      infrastructureTopology: HighlyAvailable
      platform: None
      platformStatus: { type: None }
  ipFamilies: IPv4
  kubeAPIServerServingCAData: YQ==
  networkType: OVNKubernetes
  platform: None
  pullSecret: { name: pull-secret, namespace: openshift-config }
  releaseImage: ${IMAGE}
  rootCAData: YQ==
`;
}

function createPool(name: string): string {
  return `apiVersion: ${MCO}/v1
kind: MachineConfigPool
metadata: { name: ${name}, labels: { ${MCO}/mco-built-in: '', pools.operator.${MCO}/${name}: '' } }
spec:
  machineConfigSelector: { matchLabels: { ${MCO}/role: ${name} } }
  nodeSelector: { matchLabels: { node-role.kubernetes.io/${name}: '' } }
---
`;
}
