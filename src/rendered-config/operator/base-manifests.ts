import { getValue, isRecord } from '../rendered-config.ts';
import base from './base-manifests.json' with { type: 'json' };

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
const PULL_SECRET = 'Secret pull-secret';

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
  return JSON.stringify(objects.get(PULL_SECRET) ?? base[PULL_SECRET]);
}

/**
 * What the operator renders besides the manifests of a user, in JSON. What the directory says about the cluster counts.
 * The rest is that of no real cluster, because only the difference of two renders counts.
 */
export function createBaseManifests(facts: OperatorFacts, objects: ClusterObjects): ReadonlyMap<string, string> {
  const disabled = facts.featureGates.map((name) => ({ name }));
  const all: Readonly<Record<string, Json>> = {
    ...base,
    [FEATURE_GATE]: {
      ...base[FEATURE_GATE],
      spec: objects.get(FEATURE_GATE)?.['spec'] ?? {},
      status: { featureGates: [{ version: getReleaseVersion(objects), enabled: [], disabled }] },
    },
    [CONTROLLER_CONFIG]: createControllerConfig(facts, objects),
  };
  // The installer writes a FeatureGate without status.
  const isMissing = (name: string): boolean =>
    !objects.has(name) || (name === FEATURE_GATE && !isRecord(objects.get(name)?.['status']));
  const missing = Object.entries(all).filter(([name]) => name !== PULL_SECRET && isMissing(name));
  return new Map(missing.map(([name, object]) => [`zz-${name.replace(' ', '-')}.json`, JSON.stringify(object)]));
}

/** An install-config lacks what the templates of its platform need, so the platform is none. */
function createControllerConfig({ version }: OperatorFacts, objects: ClusterObjects): Json {
  const { metadata, spec, ...type } = base[CONTROLLER_CONFIG];
  const { dns, infra } = spec;
  const proxy = objects.get('Proxy cluster')?.['status'];
  const annotations = { ...metadata.annotations, [`${MCO}/generated-by-version`]: version };
  return {
    ...type,
    metadata: { ...metadata, annotations },
    spec: {
      ...spec,
      dns: objects.get('DNS cluster') ?? dns,
      infra: objects.get('Infrastructure cluster') ?? infra,
      ...(isRecord(proxy) && { proxy }),
    },
  };
}
