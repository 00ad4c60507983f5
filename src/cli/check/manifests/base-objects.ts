import { RELEASE_VERSION } from './operator-source.ts';

const MCO = 'machineconfiguration.openshift.io';
const IMAGE = `example.com/image@sha256:${'0'.repeat(64)}`;

/**
 * What the operator renders besides the manifests of a user. Only the difference of two renders counts, so it is that of
 * no real cluster. The first object is the pull secret.
 */
export function createBaseObjects(operator: { readonly version: string; readonly featureGates: readonly string[] }) {
  const { version, featureGates } = operator;
  const secret = { name: 'pull-secret', namespace: 'openshift-config' };
  const annotations = { [`${MCO}/generated-by-version`]: version, [`${MCO}/release-image-version`]: RELEASE_VERSION };
  const gates = { version: RELEASE_VERSION, enabled: [], disabled: featureGates.map((name) => ({ name })) };
  const status = {
    apiServerInternalURI: 'https://api-int.example.com:6443',
    apiServerURL: 'https://api.example.com:6443',
    controlPlaneTopology: 'HighlyAvailable',
    infrastructureTopology: 'HighlyAvailable',
    infrastructureName: 'example',
    platform: 'None',
    platformStatus: { type: 'None' },
  };
  const spec = {
    baseOSContainerImage: IMAGE,
    baseOSExtensionsContainerImage: IMAGE,
    cloudProviderConfig: '',
    clusterDNSIP: '172.30.0.10',
    dns: createObject('config.openshift.io', 'DNS', 'cluster', { spec: { baseDomain: 'example.com' } }),
    images: {},
    infra: createObject('config.openshift.io', 'Infrastructure', 'cluster', {
      spec: { platformSpec: { type: 'None' } },
      status,
    }),
    ipFamilies: 'IPv4',
    kubeAPIServerServingCAData: 'YQ==',
    networkType: 'OVNKubernetes',
    osImageURL: '',
    platform: 'None',
    pullSecret: secret,
    releaseImage: IMAGE,
    rootCAData: 'YQ==',
  };
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: secret,
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': 'e30=' },
    },
    createPool('master'),
    createPool('worker'),
    createObject('config.openshift.io', 'FeatureGate', 'cluster', { spec: {}, status: { featureGates: [gates] } }),
    createObject(MCO, 'ControllerConfig', 'machine-config-controller', { spec }, { annotations }),
  ];
}

function createPool(name: string): object {
  const machineConfigSelector = { matchLabels: { [`${MCO}/role`]: name } };
  const nodeSelector = { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } };
  const labels = { [`${MCO}/mco-built-in`]: '', [`pools.operator.${MCO}/${name}`]: '' };
  return createObject(MCO, 'MachineConfigPool', name, { spec: { machineConfigSelector, nodeSelector } }, { labels });
}

function createObject(group: string, kind: string, name: string, rest: object, metadata: object = {}): object {
  return { apiVersion: `${group}/v1`, kind, metadata: { name, ...metadata }, ...rest };
}
