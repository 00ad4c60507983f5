import { getValue, isRecord } from '../rendered-config.ts';

type Json = Readonly<Record<string, unknown>>;

export interface OperatorFacts {
  readonly version: string;
  readonly featureGates: readonly string[];
}

/** What the manifests of a user say about the cluster: each object of OpenShift and Kubernetes as `Kind NAME`. */
export type ClusterObjects = ReadonlyMap<string, Json>;

/** Without a ControllerConfig, the FeatureGate is for this release, whatever the release of the operator is. */
const RELEASE_VERSION = '0.0.0';
const MCO = 'machineconfiguration.openshift.io';
const CONTROLLER_CONFIG = 'ControllerConfig machine-config-controller';
const FEATURE_GATE = 'FeatureGate cluster';
const IMAGE = `example.com/image@sha256:${'0'.repeat(64)}`;
const EMPTY_PULL_SECRET = '{"auths":{}}';

/** Whether the operator renders the same names for the cluster: the directory has all that they depend on. */
export function hasRealNames(objects: ClusterObjects): boolean {
  return objects.has(CONTROLLER_CONFIG) && objects.has(FEATURE_GATE);
}

/** The version of the release, as the ControllerConfig names it. */
export function getReleaseVersion(objects: ClusterObjects): string {
  const controllerConfig = objects.get(CONTROLLER_CONFIG);
  const version = getValue(controllerConfig, 'metadata', 'annotations', `${MCO}/release-image-version`);
  return typeof version === 'string' ? version : RELEASE_VERSION;
}

/** The pull secret of the directory, or an empty one. */
export function createPullSecret(objects: ClusterObjects): string {
  return JSON.stringify(
    objects.get('Secret pull-secret') ?? {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'pull-secret', namespace: 'openshift-config' },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(EMPTY_PULL_SECRET).toString('base64') },
    },
  );
}

/**
 * What the operator renders besides the manifests of a user, in JSON. What the directory says about the cluster counts.
 * The rest is that of no real cluster, because only the difference of two renders counts.
 */
export function createBaseManifests(facts: OperatorFacts, objects: ClusterObjects): ReadonlyMap<string, string> {
  const disabled = facts.featureGates.map((name) => ({ name }));
  const base: Readonly<Record<string, Json>> = {
    'MachineConfigPool master': createPool('master'),
    'MachineConfigPool worker': createPool('worker'),
    [FEATURE_GATE]: {
      apiVersion: 'config.openshift.io/v1',
      kind: 'FeatureGate',
      metadata: { name: 'cluster' },
      spec: objects.get(FEATURE_GATE)?.['spec'] ?? {},
      status: { featureGates: [{ version: getReleaseVersion(objects), enabled: [], disabled }] },
    },
    [CONTROLLER_CONFIG]: createControllerConfig(facts, objects),
  };
  // The installer writes a FeatureGate without status.
  const isMissing = (name: string): boolean =>
    !objects.has(name) || (name === FEATURE_GATE && !isRecord(objects.get(name)?.['status']));
  const missing = Object.entries(base).filter(([name]) => isMissing(name));
  return new Map(missing.map(([name, object]) => [`zz-${name.replace(' ', '-')}.json`, JSON.stringify(object)]));
}

/** An install-config lacks what the templates of its platform need, so the platform is none. */
function createControllerConfig({ version }: OperatorFacts, objects: ClusterObjects): Json {
  const proxy = objects.get('Proxy cluster')?.['status'];
  const topology = 'HighlyAvailable';
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
      clusterDNSIP: '172.30.0.10',
      dns: objects.get('DNS cluster') ?? { spec: { baseDomain: 'lab.example.com' } },
      infra: objects.get('Infrastructure cluster') ?? {
        spec: { platformSpec: { type: 'None' } },
        status: {
          apiServerInternalURI: 'https://api-int.lab.example.com:6443',
          apiServerURL: 'https://api.lab.example.com:6443',
          controlPlaneTopology: topology,
          infrastructureTopology: topology,
          platform: 'None',
          platformStatus: { type: 'None' },
        },
      },
      ipFamilies: 'IPv4',
      kubeAPIServerServingCAData: 'YQ==',
      networkType: 'OVNKubernetes',
      platform: 'none',
      pullSecret: { name: 'pull-secret', namespace: 'openshift-config' },
      releaseImage: IMAGE,
      rootCAData: 'YQ==',
      ...(isRecord(proxy) && { proxy }),
    },
  };
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
