import { isIPv6 } from 'node:net';
import { isRecord } from '../rendered-config.ts';

type Json = Readonly<Record<string, unknown>>;

export interface OperatorFacts {
  readonly version: string;
  readonly featureGates: readonly string[];
}

/** What the manifests of a user say about the cluster. */
export interface ClusterInputs {
  /** Each object of these kinds as `Kind NAME`. */
  readonly objects: ReadonlyMap<string, Json>;
  /** Of the install-config. */
  readonly installConfig: Json | undefined;
}

/** Without a ControllerConfig, the FeatureGate is for this release, whatever the release of the operator is. */
const RELEASE_VERSION = '0.0.0';
const MCO = 'machineconfiguration.openshift.io';
const CONTROLLER_CONFIG = 'ControllerConfig machine-config-controller';
const FEATURE_GATE = 'FeatureGate cluster';
const IMAGE = `example.com/image@sha256:${'0'.repeat(64)}`;
const EMPTY_PULL_SECRET = '{"auths":{}}';
const PLATFORMS: Readonly<Record<string, string>> = {
  aws: 'AWS',
  azure: 'Azure',
  baremetal: 'BareMetal',
  external: 'External',
  gcp: 'GCP',
  ibmcloud: 'IBMCloud',
  none: 'None',
  nutanix: 'Nutanix',
  openstack: 'OpenStack',
  ovirt: 'oVirt',
  powervs: 'PowerVS',
  vsphere: 'VSphere',
};

/** Whether the operator renders the same names for the cluster: the directory has all that they depend on. */
export function hasRealNames({ objects }: ClusterInputs): boolean {
  return objects.has(CONTROLLER_CONFIG) && objects.has(FEATURE_GATE);
}

/** The version of the release, as the ControllerConfig names it. */
export function getReleaseVersion({ objects }: ClusterInputs): string {
  const annotations = getField(objects.get(CONTROLLER_CONFIG)?.['metadata'], 'annotations');
  const version = getField(annotations, `${MCO}/release-image-version`);
  return typeof version === 'string' ? version : RELEASE_VERSION;
}

/** The pull secret of the install-config, or an empty one. */
export function createPullSecret({ objects, installConfig }: ClusterInputs): string {
  const own = objects.get('Secret pull-secret');
  if (own !== undefined) return JSON.stringify(own);
  const text = installConfig?.['pullSecret'];
  const secret = typeof text === 'string' ? text : EMPTY_PULL_SECRET;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'pull-secret', namespace: 'openshift-config' },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(secret).toString('base64') },
  });
}

/**
 * What the operator renders besides the manifests of a user, in JSON. What the directory says about the cluster counts.
 * The rest is that of no real cluster, because only the difference of two renders counts.
 */
export function createBaseManifests(facts: OperatorFacts, inputs: ClusterInputs): ReadonlyMap<string, string> {
  const { objects } = inputs;
  const disabled = facts.featureGates.map((name) => ({ name }));
  const base: Readonly<Record<string, Json>> = {
    'MachineConfigPool master': createPool('master'),
    'MachineConfigPool worker': createPool('worker'),
    [FEATURE_GATE]: {
      apiVersion: 'config.openshift.io/v1',
      kind: 'FeatureGate',
      metadata: { name: 'cluster' },
      spec: objects.get(FEATURE_GATE)?.['spec'] ?? {},
      status: { featureGates: [{ version: getReleaseVersion(inputs), enabled: [], disabled }] },
    },
    [CONTROLLER_CONFIG]: createControllerConfig(facts, inputs),
  };
  // The installer writes a FeatureGate without status.
  const isMissing = (name: string): boolean => !objects.has(name) || (name === FEATURE_GATE && !hasStatus(objects));
  const missing = Object.entries(base).filter(([name]) => isMissing(name));
  return new Map(missing.map(([name, object]) => [`zz-${name.replace(' ', '-')}.json`, JSON.stringify(object)]));
}

function hasStatus(objects: ClusterInputs['objects']): boolean {
  return isRecord(objects.get(FEATURE_GATE)?.['status']);
}

function createControllerConfig({ version }: OperatorFacts, { objects, installConfig = {} }: ClusterInputs): Json {
  const { networking, baseDomain = 'example.com', metadata, platform, controlPlane } = installConfig;
  const name = getField(metadata, 'name');
  const domain = typeof name === 'string' ? `${name}.${String(baseDomain)}` : String(baseDomain);
  const networks = getField(networking, 'serviceNetwork');
  const services = Array.isArray(networks) ? networks.map(String) : ['172.30.0.0/16'];
  const [platformName = 'none'] = isRecord(platform) ? Object.keys(platform) : [];
  const type = PLATFORMS[platformName] ?? 'None';
  const topology = getField(controlPlane, 'replicas') === 1 ? 'SingleReplica' : 'HighlyAvailable';
  const infra = objects.get('Infrastructure cluster') ?? {
    spec: { platformSpec: { type } },
    status: {
      apiServerInternalURI: `https://api-int.${domain}:6443`,
      apiServerURL: `https://api.${domain}:6443`,
      controlPlaneTopology: topology,
      infrastructureTopology: topology,
      platform: type,
      platformStatus: { type },
    },
  };
  const bundle = installConfig['additionalTrustBundle'];
  const proxy = objects.get('Proxy cluster')?.['status'];
  return {
    apiVersion: `${MCO}/v1`,
    kind: 'ControllerConfig',
    metadata: {
      name: 'machine-config-controller',
      annotations: {
        [`${MCO}/generated-by-version`]: version,
        [`${MCO}/release-image-version`]: RELEASE_VERSION,
      },
    },
    spec: {
      baseOSContainerImage: IMAGE,
      baseOSExtensionsContainerImage: IMAGE,
      clusterDNSIP: getDnsAddress(services[0] ?? ''),
      dns: objects.get('DNS cluster') ?? { spec: { baseDomain: domain } },
      infra,
      ipFamilies: getFamilies(services),
      kubeAPIServerServingCAData: 'YQ==',
      networkType: getField(networking, 'networkType') ?? 'OVNKubernetes',
      platform: platformName,
      pullSecret: { name: 'pull-secret', namespace: 'openshift-config' },
      releaseImage: IMAGE,
      rootCAData: 'YQ==',
      ...(isRecord(proxy) && { proxy }),
      ...(typeof bundle === 'string' && { additionalTrustBundle: Buffer.from(bundle).toString('base64') }),
    },
  };
}

/** The tenth address of the network of services (machine-config-operator, pkg/operator/bootstrap.go). */
function getDnsAddress(network: string): string {
  const [address = ''] = network.split('/', 1);
  return isIPv6(address) ? `${address.replace(/:*$/, '')}::a` : address.replace(/\d+$/, '10');
}

function getFamilies(networks: readonly string[]): string {
  const families = networks.map((network) => (network.includes(':') ? 'IPv6' : 'IPv4'));
  if (new Set(families).size < 2) return families[0] ?? 'IPv4';
  return families[0] === 'IPv6' ? 'DualStackIPv6Primary' : 'DualStack';
}

function getField(value: unknown, key: string): unknown {
  return isRecord(value) ? value[key] : undefined;
}

function createPool(name: string): Json {
  return {
    apiVersion: `${MCO}/v1`,
    kind: 'MachineConfigPool',
    metadata: {
      name,
      labels: { [`${MCO}/mco-built-in`]: '', [`pools.operator.${MCO}/${name}`]: '' },
    },
    spec: {
      machineConfigSelector: { matchLabels: { [`${MCO}/role`]: name } },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    },
  };
}
