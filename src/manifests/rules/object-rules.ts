import { compareReleases, type Json, type ManifestObject, type ManifestSet } from '../manifest-set.ts';
import { findNearestKind } from '../nearest-kind.ts';
import { getGroup, type KindVersion } from '../schemas.ts';
import { changesRenders, formatMiB, isEqualInput } from '../render-inputs.ts';
import { getValue, isRecord } from '../../rendered-config/rendered-config.ts';
import { type Finding, type Findings, formatRange, type ObjectRule, type Severity } from './rule.ts';

/**
 * The files from which the bootstrap host reads an object, by its type or its ID
 * (cmd/machine-config-operator/bootstrap.go of 4.15 to 4.20).
 */
const INSTALLER_FILES: Readonly<Record<string, string>> = {
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
/** What templates and shells replace. */
const PLACEHOLDER = /\$\{[\w.-]+\}|\$[A-Z][A-Z\d_]+\b|\{\{.*?\}\}|<[A-Za-z][\w -]*>/;
/** Scripts contain such texts, too. So it must be the whole content. */
const PLACEHOLDER_SOURCE = /^data:[^,]*,\s*\$[A-Z][A-Z\d_]+\s*$/;
/** A salt can look like a variable, and a regular expression like a placeholder. */
const FREE_TEXT = /^(?:data|stringData|annotations|containerFile|passwordHash|additionalCORSAllowedOrigins)$/;
const CONFIG_GROUP = 'config.openshift.io';
const MIRROR_SETS = [`${CONFIG_GROUP} ImageDigestMirrorSet`, `${CONFIG_GROUP} ImageTagMirrorSet`];
const SOURCE_POLICIES = [...MIRROR_SETS, 'operator.openshift.io ImageContentSourcePolicy'];
/** An object in etcd has at most 1.5 MiB (etcd, --max-request-bytes). */
export const MAX_OBJECT_BYTES = 1.5 * 1024 ** 2;

/** Rules about what an API server accepts, in the order in which they are applied. */
export const OBJECT_RULES = {
  ButaneObject: {
    severity: 'error',
    isFinal: true,
    find: ({ value, kind }) => kind === '' && value['variant'] !== undefined,
    message: 'Butane, not a manifest: the bootstrap of the cluster fails',
    advice: 'run butane, and keep what it writes',
  },
  ClientKind: {
    severity: 'error',
    isFinal: true,
    find: (object, set) => {
      const { installer, catalog } = set;
      const isForClient = catalog.has('clientGroups', object.group) || catalog.has('clientTypes', object.type);
      return installer !== 'hub' && isForClient && isUndefined(object, set);
    },
    message: 'only a client or a hub reads this kind: no new cluster has it',
    advice: 'move the file elsewhere',
  },
  ObjectList: {
    severity: 'error',
    isFinal: true,
    find: ({ value }) => value['items'] !== undefined,
    message: 'cluster-bootstrap takes an object with items for a list, and rejects all manifests',
    advice: 'write single objects',
  },
  IncompleteObject: {
    severity: 'error',
    isFinal: true,
    find: ({ value }) =>
      ['apiVersion', 'kind', 'metadata.name'].find((field) => (getValue(value, ...field.split('.')) ?? '') === ''),
    message: (detail) => `${detail} is missing: the bootstrap of the cluster fails`,
    advice: 'add it, or move the file elsewhere',
  },
  UnknownKind: {
    severity: 'error',
    find: findUnknownKind,
    message: (nearest) => `no cluster has this kind${nearest && `, only ${nearest}`}: the API rejects it for ever`,
    advice: 'correct kind and apiVersion, in which case counts',
  },
  MissingDefinition: {
    severity: 'warning',
    find: (object, set) =>
      !set.catalog.has('unlistedTypes', object.type) &&
      isUndefined(object, set) &&
      !findUnknownKind(object, set) &&
      object.type,
    message: (type) => `no release is known to have ${type}: the API rejects it until a CRD defines it`,
    advice: 'add the CRD, or create the object after the install',
  },
  KindRelease: {
    severity: ifReleaseIsKnown,
    find: findMissingReleases,
    message: (detail) => `not every cluster has this kind, but only ${detail}: others reject it for ever`,
    advice: 'choose the version or the release for it, or create it after an update',
  },
  Placeholder: {
    severity: 'warning',
    find: findPlaceholders,
    message: (detail) => `${detail} looks like a placeholder`,
    advice: 'replace it by a value',
  },
  NoNamespace: {
    severity: 'error',
    find: (object, set) => object.namespace === '' && set.findKinds(object).some(({ isNamespaced }) => isNamespaced),
    message: 'cluster-bootstrap needs the namespace of this kind: the API rejects the object for ever',
    advice: 'add metadata.namespace',
  },
  MissingNamespace: {
    // Another release can create it.
    severity: ({ namespace }) => (namespace.startsWith('openshift-') ? 'warning' : 'error'),
    find: findMissingNamespace,
    message: (detail) => `nothing is known to create namespace ${detail}: the API rejects the object until it exists`,
    advice: 'add the namespace',
  },
  DuplicateObject: {
    severity: (object, set) => (changesRenders(object, set) ? 'error' : 'warning'),
    find: findDuplicate,
    message: (detail) => `it is in ${detail}, too: the bootstrap host reads both, the cluster gets only that one`,
    advice: 'rename one if both are needed and differ, else delete one',
  },
  ObjectSize: {
    severity: 'error',
    find: ({ value, document }) => {
      if (document.text.length < MAX_OBJECT_BYTES) return false;
      const size = Buffer.byteLength(JSON.stringify(value));
      return size > MAX_OBJECT_BYTES && formatMiB(size);
    },
    message: (detail) => `${detail}: etcd takes at most 1.5 MiB, so the API rejects the object for ever`,
    advice: 'make it smaller',
  },
  OnlyInCluster: {
    severity: 'warning',
    find: ({ type, id, manifest: { fileName } }) => {
      const file = INSTALLER_FILES[type] ?? INSTALLER_FILES[id];
      return file?.endsWith(`/${fileName}`) === false && file;
    },
    message: (detail) => `the bootstrap host reads ${detail} instead: the renders can differ`,
    advice: 'create it after the install',
  },
  MirrorRelease: {
    kinds: ['operator.openshift.io ImageContentSourcePolicy'],
    severity: ifReleaseIsKnown,
    find: (_object, { schemaReleases: [oldest = ''], listOfType }) =>
      compareReleases(oldest, '4.15') < 0 && MIRROR_SETS.some((type) => listOfType(type).length > 0),
    message: 'OpenShift before 4.15: the bootstrap host rejects it beside an ImageDigestMirrorSet',
    advice: 'write one of the kinds',
  },
  PolicyScope: {
    kinds: [`${CONFIG_GROUP} ClusterImagePolicy`, `${CONFIG_GROUP} ImagePolicy`],
    severity: 'error',
    find: findUnusableScopes,
    message: (detail) => `the Image of the cluster does not allow the scope ${detail}: the bootstrap host fails`,
    advice: 'correct the scope, or registrySources of the Image',
  },
  ConflictingMirrors: {
    kinds: SOURCE_POLICIES,
    severity: 'error',
    find: findConflictingMirrors,
    message: (detail) => `${detail} has another mirrorSourcePolicy elsewhere: the bootstrap host fails`,
    advice: 'write the same policy for each source',
  },
} satisfies Readonly<Record<string, ObjectRule>>;

/** Without a release, only some of the possible ones are affected. */
function ifReleaseIsKnown(_object: ManifestObject, { release }: ManifestSet): Severity {
  return release === undefined ? 'warning' : 'error';
}

/** Whether neither a release nor the manifests have the kind. */
function isUndefined(object: ManifestObject, set: ManifestSet): boolean {
  return set.findKinds(object).length === 0;
}

/** The kind that was probably meant, or an empty text. Undefined if an operator can bring the kind. */
function findUnknownKind(object: ManifestObject, set: ManifestSet): Findings {
  const { group, kind, type } = object;
  const { catalog, definedKinds } = set;
  if (!isUndefined(object, set)) return undefined;
  const isNear = (each: KindVersion): boolean =>
    getGroup(each.apiVersion) === group && each.kind.toLowerCase() === kind.toLowerCase();
  const defined = definedKinds.find(isNear);
  const nearest = defined ? `${defined.apiVersion} ${defined.kind}` : findNearestKind(object, catalog);
  const isComplete = catalog.groups.has(group) && catalog.has('ownTypes', type) && !catalog.has('unlistedTypes', type);
  return nearest !== undefined || isComplete ? [{ detail: nearest ?? '' }] : undefined;
}

function findMissingReleases(object: ManifestObject, set: ManifestSet): Findings {
  const { catalog, schemaReleases, featureSet } = set;
  const all = catalog.find(object.apiVersion, object.kind);
  const listServed = (versions: readonly KindVersion[], releases = schemaReleases): readonly string[] =>
    releases.filter((release) => versions.some((version) => version.releases.includes(release)));
  const served = listServed(set.findVersions(object));
  if (all.length === 0 || served.length === schemaReleases.length) return false;
  const sets = new Set(all.filter((each) => listServed([each]).length > 0).flatMap((each) => each.featureSets ?? []));
  sets.delete(featureSet);
  if (served.length === 0 && sets.size > 0) return `those with the feature set ${[...sets].join(' or ')}`;
  return `OpenShift ${formatRange(served.length > 0 ? served : listServed(all, catalog.releases))}`;
}

function findPlaceholders({ type, value, document }: ManifestObject, { catalog }: ManifestSet): Findings {
  const found: Finding[] = [];
  const search = (collection: object): void => {
    for (const [key, item] of Object.entries(collection) as [string, unknown][]) {
      if (FREE_TEXT.test(key)) continue;
      if (typeof item === 'object' && item !== null) search(item);
      if (typeof item !== 'string' || key === 'contents') continue;
      const pattern = key === 'source' && item.startsWith('data:') ? PLACEHOLDER_SOURCE : PLACEHOLDER;
      const [detail] = pattern.exec(item) ?? [];
      if (detail !== undefined) found.push({ detail, line: document.findLine(collection, key) });
    }
  };
  // Other objects can contain templates.
  search(catalog.has('renderInputs', type) ? value : { metadata: value['metadata'] });
  return found;
}

function findMissingNamespace(object: ManifestObject, set: ManifestSet): Findings {
  const { namespace } = object;
  if (namespace === '' || set.catalog.has('namespaces', namespace)) return false;
  const kinds = set.findKinds(object);
  // cluster-bootstrap ignores the namespace of a kind without one.
  const isIgnored = kinds.length > 0 && !kinds.some(({ isNamespaced }) => isNamespaced);
  return !isIgnored && !set.byId.has(`v1/Namespace//${namespace}`) && namespace;
}

function findDuplicate(object: ManifestObject, { byId }: ManifestSet): Findings {
  const other = byId.get(object.id);
  if (other === undefined || other === object) return false;
  // Equal configs are common, and harmless.
  const isHarmless = object.type.endsWith(' MachineConfig') && isEqualInput(object, other);
  return !isHarmless && other.manifest.file;
}

function findConflictingMirrors({ spec, document }: ManifestObject, set: ManifestSet): Findings {
  const all = SOURCE_POLICIES.flatMap((type) => set.listOfType(type)).flatMap((each) => listMirrors(each.spec));
  return listMirrors(spec).flatMap((mirror) => {
    const { source } = mirror;
    const isConflicting = all.some((other) => other['source'] === source && getPolicy(other) !== getPolicy(mirror));
    return isConflicting ? [{ detail: String(source), line: document.findLine(mirror, 'source') }] : [];
  });
}

/** Of the machine-config-operator, pkg/controller/container-runtime-config/helpers.go. */
function findUnusableScopes({ spec: { scopes }, document }: ManifestObject, { byId }: ManifestSet): Findings {
  const image = byId.get(`${CONFIG_GROUP}/v1/Image//cluster`);
  const [allowed = [], blocked = []] = ['allowedRegistries', 'blockedRegistries'].map((name) => {
    const registries = getValue(image?.spec, 'registrySources', name);
    return Array.isArray(registries) ? registries.map(String) : [];
  });
  if (!Array.isArray(scopes)) return undefined;
  return scopes.map(String).flatMap((scope, index) => {
    const isInside = (registry: string): boolean => isScopeInside(scope, registry);
    const isUsable = (allowed.length === 0 || allowed.some(isInside)) && !blocked.some(isInside);
    return isUsable ? [] : [{ detail: scope, line: document.findLine(scopes, index) }];
  });
}

function isScopeInside(scope: string, registry: string): boolean {
  const [host = ''] = scope.split(/[:/]/, 1);
  if (registry.startsWith('*.') && host.endsWith(registry.slice(1))) return true;
  return scope === registry || scope.startsWith(`${registry}/`);
}

function getPolicy({ mirrorSourcePolicy: policy }: Json): unknown {
  return policy || 'AllowContactingSource';
}

function listMirrors({ imageDigestMirrors, imageTagMirrors, repositoryDigestMirrors }: Json): readonly Json[] {
  return [imageDigestMirrors, imageTagMirrors, repositoryDigestMirrors].flat().filter(isRecord);
}
