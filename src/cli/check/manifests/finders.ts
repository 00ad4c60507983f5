import { isDeepStrictEqual } from 'node:util';
import { matchesNodeSelector } from '../../../references/node-selector.ts';
import { isRecord } from '../../../rendered-config/rendered-config.ts';
import { NAMES } from '../../../rendered-config/inputs/field-types.ts';
import {
  findClusterInput,
  findServedVersion,
  isClientKind,
  isClusterScoped,
  isExistingNamespace,
  isNamespaced,
  isRenderInput,
} from '../../../rendered-config/inputs/kinds.ts';
import { isCollection, type Json, type Manifest, type ManifestDirectory } from './manifest-directory.ts';
import { type ManifestObject, ROLE_LABEL, ROLES } from './manifest-directory.ts';

/** Whether a rule applies, a detail for its message, or several with their lines. */
export type Findings = boolean | string | undefined | readonly (readonly [detail: string, line?: number])[];

const GENERATED_VERSION = 'machineconfiguration.openshift.io/generated-by-controller-version';
const PREBUILT_IMAGE = 'machineconfiguration.openshift.io/pre-built-image';
const RENDERED_PREFIX = 'rendered-';
const IGNITION_VERSION = /^(?:2\.[0-2]\.0|3\.[0-5]\.0|undefined)$/;
const CONFIG = 'MachineConfig';
const POOL = 'MachineConfigPool';
const SELECTING = 'KubeletConfig ContainerRuntimeConfig';
const PLACEHOLDER = /\$\{[\w.-]+\}|\$[A-Z][A-Z\d_]+\b|\{\{.*?\}\}|<[A-Za-z][\w -]*>/;
/** Scripts contain such texts, too. So it must be the whole source. */
const PLACEHOLDER_SOURCE = /^data:[^,]*,\s*(?:\$\{[\w.-]+\}|\$[A-Z][A-Z\d_]+|\{\{.*\}\}|<[A-Za-z][\w -]*>)\s*$/;
/** Fields that can contain scripts. */
const FREE_TEXT = /^(?:data|stringData|annotations|containerFile)$/;
/** What the operator writes for these roles in every cluster (templates/, pkg/controller), and beside some objects. */
const OPERATOR_NAME =
  /^(?:00-ROLE|01-ROLE-(?:kubelet|container-runtime)|9[78]-ROLE-generated-kubelet|99-ROLE-generated-registries)$/;
const GENERATED_NAME = /^99-ROLE-generated-(kubelet|containerruntime)$/;

export const FILE_FINDERS: Readonly<Record<string, (file: Manifest) => Findings>> = {
  HiddenFile: ({ fileName }) => fileName.startsWith('.'),
  Unparsable: ({ documents }) => documents.flatMap(({ error }) => (error ? [[error.message, error.line]] : [])),
  UnparsableInCluster: ({ documents, inCluster: { error } }) =>
    error !== undefined && documents.every((document) => !document.error) && [[error.message, error.line]],
  EmptyDocument: ({ inCluster }) => inCluster.value === null,
  DifferentReading: ({ documents, inCluster, isJson }) => {
    const first = documents.find(({ value }) => value !== null)?.value;
    if (first === undefined || !isCollection(inCluster.value)) return false;
    return isJson ? inCluster.duplicates[0]?.key : findDifference(first, inCluster.value);
  },
  DuplicateKey: ({ documents }) =>
    documents.flatMap(({ duplicates }) => duplicates.map(({ key, line }) => [key, line])),
};

type Find = (object: ManifestObject, directory: ManifestDirectory) => Findings;

/** The other rules would only report what follows from these. */
export const FINAL_FINDERS: Readonly<Record<string, Find>> = {
  ButaneObject: ({ value, kind }) => kind === '' && value['variant'] !== undefined,
  ClientKind: ({ apiVersion, kind }) => isClientKind(apiVersion, kind),
  ObjectList: ({ value }) => value['items'] !== undefined,
  IncompleteObject: ({ value: { apiVersion, kind, metadata } }) =>
    Object.entries({ apiVersion, kind, 'metadata.name': isRecord(metadata) && metadata['name'] }).find(
      ([, value]) => !value,
    )?.[0],
};

/** The code of each rule, the kinds of the objects in which it searches, or '' for all, and what it finds. */
export const OBJECT_FINDERS: readonly (readonly [code: string, kinds: string, find: Find])[] = [
  ['UnknownKind', '', ({ apiVersion, kind }) => findServedVersion(apiVersion, kind)],
  ['InvalidName', '', findInvalidNames],
  [
    'Placeholder',
    '',
    ({ id, value, document }) => {
      const { metadata } = value;
      return findPlaceholders(isRenderInput(id) ? value : { metadata }, '', document.findLine);
    },
  ],
  ['NoNamespace', '', ({ apiVersion, kind, namespace }) => namespace === '' && isNamespaced(apiVersion, kind)],
  ['MissingNamespace', '', (object, directory) => !isOpenShift(object) && findMissingNamespace(object, directory)],
  ['NewNamespace', '', (object, directory) => isOpenShift(object) && findMissingNamespace(object, directory)],
  ['OnlyInCluster', '', ({ id, manifest }) => findClusterInput(id, manifest.fileName)],
  ['DuplicateObject', '', findDuplicate],
  ['MissingRole', CONFIG, ({ labels, name }) => !labels?.[ROLE_LABEL] && !name.startsWith(RENDERED_PREFIX)],
  ['NoPool', CONFIG, ({ labels }, { findPools }) => findPools(labels).length === 0 && getRole(labels)],
  ['CopiedConfig', CONFIG, ({ annotations }) => Boolean(annotations[GENERATED_VERSION])],
  [
    'RenderedName',
    CONFIG,
    ({ name, annotations }) => name.startsWith(RENDERED_PREFIX) && !annotations[GENERATED_VERSION],
  ],
  ['OperatorName', CONFIG, hasOperatorName],
  ['UnlabeledConfig', CONFIG, ({ labels }, { findPools }) => labels === undefined && findPools().length > 0],
  ['UnsupportedIgnition', CONFIG, (object) => !IGNITION_VERSION.test(String(getIgnitionVersion(object)))],
  ['IgnitionRelease', CONFIG, (object) => getIgnitionVersion(object) === '3.5.0'],
  ['OldIgnitionRelease', CONFIG, (object) => /^3\.[34]\./.test(String(getIgnitionVersion(object)))],
  ['KernelDevel', CONFIG, hasKernelDevelWithoutKernel],
  ['BuiltInPool', POOL, ({ name }) => ROLES.includes(name)],
  ['EmptyPool', POOL, ({ spec }, { configLabels }) => !configLabels.some((labels) => selects(spec, labels))],
  ['EmptyRole', POOL, ({ spec }) => !ROLES.some((role) => selects(spec, { [ROLE_LABEL]: role }))],
  ['MultipleConfigs', SELECTING, findRival],
  ['UnselectedPool', SELECTING, (object, { findSelectedPools }) => findSelectedPools(object).length === 0],
  ['CgroupRelease', 'Node', ({ spec }) => spec['cgroupMode'] === 'v1'],
  [
    'RuntimeRelease',
    'ContainerRuntimeConfig',
    ({ spec }) => getField(spec, 'containerRuntimeConfig', 'defaultRuntime') === 'runc',
  ],
  [
    'MirrorRelease',
    'ImageContentSourcePolicy',
    (_object, { objects }) => [...objects.values()].some(({ kind }) => /^Image\w+MirrorSet$/.test(kind)),
  ],
  ['PolicyRelease', 'ClusterImagePolicy ImagePolicy', ({ apiVersion }) => apiVersion === 'config.openshift.io/v1'],
  [
    'PrebuiltRelease',
    'MachineOSConfig',
    ({ annotations }) => !String(annotations[PREBUILT_IMAGE]).includes('@sha256:'),
  ],
];

/** The path of the first value that differs. */
function findDifference(first: unknown, second: unknown, path: readonly string[] = []): string | undefined {
  if (isDeepStrictEqual(first, second)) return undefined;
  if (!isCollection(first) || !isCollection(second)) return path.join('.') || 'the object';
  const key = Object.keys({ ...second, ...first }).find((each) => !isDeepStrictEqual(first[each], second[each])) ?? '';
  return findDifference(first[key], second[key], [...path, key]);
}

function findInvalidNames({ apiVersion, kind, name, labels = {}, annotations }: ManifestObject): Findings {
  const names = apiVersion.startsWith('rbac.')
    ? NAMES.pathSegment
    : kind === 'Namespace'
      ? NAMES.label
      : NAMES.subdomain;
  const isLabel = ([key, value]: [string, unknown]): boolean =>
    NAMES.labelKey.test(key) && (typeof value !== 'string' || NAMES.labelValue.test(value));
  return [
    ...(names.test(name) ? [] : [['metadata.name'] as const]),
    ...(Object.entries(labels).every(isLabel) ? [] : [['a key or a value of metadata.labels'] as const]),
    ...(Object.keys(annotations).every((key) => NAMES.annotationKey.test(key))
      ? []
      : [['a key of metadata.annotations'] as const]),
  ];
}

function findPlaceholders(
  collection: Json,
  path: string,
  findLine: (collection: object, key: string) => number,
): (readonly [string, number])[] {
  return Object.entries(collection).flatMap(([key, value]) => {
    if (FREE_TEXT.test(key) || (key === 'contents' && typeof value === 'string')) return [];
    const place = path === '' ? key : `${path}.${key}`;
    if (isCollection(value)) return findPlaceholders(value, place, findLine);
    const pattern = key === 'source' && String(value).startsWith('data:') ? PLACEHOLDER_SOURCE : PLACEHOLDER;
    return typeof value === 'string' && pattern.test(value) ? [[place, findLine(collection, key)] as const] : [];
  });
}

function isOpenShift({ namespace }: ManifestObject): boolean {
  return namespace.startsWith('openshift-');
}

function findMissingNamespace({ namespace, id }: ManifestObject, { objects }: ManifestDirectory): Findings {
  const exists =
    namespace === '' ||
    isClusterScoped(id) ||
    isExistingNamespace(namespace) ||
    objects.has(`v1/Namespace//${namespace}`);
  return !exists && namespace;
}

function findDuplicate(object: ManifestObject, { objects }: ManifestDirectory): Findings {
  const first = objects.get(object.id);
  return first !== object && !isEqualConfig(object, first) && first?.manifest.file;
}

/** Equal configs render like one, except for their kernel arguments and extensions. */
function isEqualConfig(object: ManifestObject, first: ManifestObject | undefined): boolean {
  const { kind, labels, spec } = object;
  if (first === undefined || first === object || kind !== CONFIG || spec['kernelArguments'] || spec['extensions'])
    return false;
  return isDeepStrictEqual([getRole(labels), spec], [getRole(first.labels), first.spec]);
}

/** Whether the configs of the pools of an install depend on the object. */
export function changesRenders(
  object: ManifestObject,
  { objects, findPools, findSelectedPools }: ManifestDirectory,
): boolean {
  const { id, kind, name, labels } = object;
  if (kind === POOL) return ROLES.includes(name);
  if (kind === CONFIG) return findPools(labels).length > 0 && !isEqualConfig(object, objects.get(id));
  return isRenderInput(id) && (!SELECTING.includes(kind) || findSelectedPools(object).length > 0);
}

function getRole(labels: Json | undefined): string | undefined {
  const role = labels?.[ROLE_LABEL];
  return typeof role === 'string' && role !== '' ? `role ${role}` : undefined;
}

function hasOperatorName({ name }: ManifestObject, { objects, findSelectedPools }: ManifestDirectory): boolean {
  return ROLES.some((role) => {
    const pattern = name.replace(`-${role}`, '-ROLE');
    const [, kind] = GENERATED_NAME.exec(pattern) ?? [];
    if (kind === undefined) return OPERATOR_NAME.test(pattern);
    const isOf = (object: ManifestObject): boolean => object.kind.toLowerCase() === `${kind}config`;
    return [...objects.values()].some((object) => isOf(object) && findSelectedPools(object).includes(role));
  });
}

/** Undefined if the config of Ignition is null or no mapping. */
function getIgnitionVersion({ spec }: ManifestObject): unknown {
  const { config } = spec;
  return isRecord(config) ? String(getField(config, 'ignition', 'version')).replace('undefined', '') : undefined;
}

function getField(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce((field, key) => (isRecord(field) ? field[key] : undefined), value);
}

function hasKernelDevelWithoutKernel(
  { labels, spec }: ManifestObject,
  { objects, findPools }: ManifestDirectory,
): boolean {
  const { extensions } = spec;
  if (!Array.isArray(extensions) || !extensions.includes('kernel-devel')) return false;
  const pools = findPools(labels);
  return [...objects.values()].some(
    (other) =>
      /^(?:realtime|64k-pages)$/.test(String(other.spec['kernelType'])) &&
      findPools(other.labels).some((pool) => pools.includes(pool)),
  );
}

function selects(spec: Json, labels: Json): boolean {
  return matchesNodeSelector(spec['machineConfigSelector'], labels);
}

function findRival(object: ManifestObject, { objects, findSelectedPools }: ManifestDirectory): Findings {
  const pools = findSelectedPools(object);
  const rivals = [...objects.values()].filter(({ kind, id }) => kind === object.kind && id !== object.id);
  return rivals.find((rival) => findSelectedPools(rival).some((pool) => pools.includes(pool)))?.manifest.file;
}
