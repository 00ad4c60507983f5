import { isDeepStrictEqual } from 'node:util';
import { matchesNodeSelector } from '../../../mco/pool-of-node.ts';
import { listParts } from '../../../rendered-config/config-parts.ts';
import * as kinds from '../../../rendered-config/inputs/kinds.ts';
import { isRecord } from '../../../rendered-config/rendered-config.ts';
import {
  type Json,
  type Manifest,
  type ManifestDirectory,
  type ManifestObject,
  ROLE_LABEL,
  ROLES,
} from './manifest-directory.ts';

/** Whether a rule applies, a detail for its message, or several with their lines. */
export type Findings = boolean | string | undefined | readonly (readonly [detail: string, line?: number])[];
type Find = (object: ManifestObject, directory: ManifestDirectory) => Findings;

const GENERATED = 'machineconfiguration.openshift.io/generated-by-controller-version';
const PREBUILT = 'machineconfiguration.openshift.io/pre-built-image';
const RENDERED = /^rendered-/;
const IGNITION_VERSION = /^(?:2\.[0-2]\.0|3\.[0-5]\.0|none)$/;
const PLACEHOLDER = /\$\{[\w.-]+\}|\$[A-Z][A-Z\d_]+\b|\{\{.*?\}\}|<[A-Za-z][\w -]*>/;
/** Scripts contain such texts, too. So it must be the whole content. */
const PLACEHOLDER_SOURCE = /^data:[^,]*,\s*\$[A-Z][A-Z\d_]+\s*$/;
const FREE_TEXT = /^(?:data|stringData|annotations|containerFile)$/;
const CONFIG = 'MachineConfig';
const POOL = 'MachineConfigPool';
const RUNTIME = 'ContainerRuntimeConfig';
const SELECTING = `KubeletConfig ${RUNTIME}`;

export const FILE_FINDERS: Readonly<Record<string, (file: Manifest) => Findings>> = {
  HiddenFile: ({ fileName }) => fileName.startsWith('.'),
  Unparsable: ({ documents }) => documents.flatMap(({ error }) => (error ? [[error.message, error.line]] : [])),
  UnparsableInCluster: ({ documents, inCluster: { error } }) =>
    error !== undefined && documents.every((document) => !document.error) && [[error.message, error.line]],
  EmptyDocument: ({ inCluster }) => inCluster.value === null,
  DuplicateKey: ({ documents }) => documents.flatMap((each) => each.duplicates.map(({ key, line }) => [key, line])),
};

/** The other rules would only report what follows from these. */
export const FINAL_FINDERS: Readonly<Record<string, Find>> = {
  ButaneObject: ({ value, kind }) => kind === '' && value['variant'] !== undefined,
  ClientKind: ({ apiVersion, kind }) => kinds.isClientKind(apiVersion, kind),
  ObjectList: ({ value }) => value['items'] !== undefined,
  IncompleteObject: ({ value }) =>
    ['apiVersion', 'kind', 'metadata.name'].find((field) => !getField(value, ...field.split('.'))),
};

/** The code of each rule, the kinds of the objects in which it searches, or '' for all, and what it finds. */
export const OBJECT_FINDERS: readonly (readonly [code: string, kinds: string, find: Find])[] = [
  ['UnknownKind', '', ({ apiVersion, kind }) => kinds.findServedVersion(apiVersion, kind)],
  ['MissingDefinition', '', findMissingDefinition],
  ['Placeholder', '', findPlaceholders],
  ['NoNamespace', '', ({ apiVersion, kind, namespace }) => !namespace && kinds.isNamespaced(apiVersion, kind)],
  ['MissingNamespace', '', (object, directory) => !isOpenShift(object) && findMissingNamespace(object, directory)],
  ['NewNamespace', '', (object, directory) => isOpenShift(object) && findMissingNamespace(object, directory)],
  ['OnlyInCluster', '', ({ id, manifest }) => kinds.findClusterInput(id, manifest.fileName)],
  ['DuplicateObject', '', findDuplicate],
  ['MissingRole', CONFIG, ({ labels, name }) => !labels?.[ROLE_LABEL] && !RENDERED.test(name)],
  ['NoPool', CONFIG, ({ labels }, { findPools }) => findPools(labels).length === 0 && getRole(labels)],
  ['CopiedConfig', CONFIG, ({ annotations }) => Boolean(annotations[GENERATED])],
  ['RenderedName', CONFIG, ({ name, annotations }) => RENDERED.test(name) && !annotations[GENERATED]],
  ['OperatorName', CONFIG, hasOperatorName],
  ['InstallerName', CONFIG, ({ name, manifest }) => kinds.isInstallerName(name, manifest.fileName)],
  ['UncomparedFile', CONFIG, findUncomparedFiles],
  ['UnlabeledConfig', CONFIG, ({ labels }, { findPools }) => labels === undefined && findPools().length > 0],
  ['UnsupportedIgnition', CONFIG, ({ spec }) => !IGNITION_VERSION.test(getIgnitionVersion(spec))],
  ['IgnitionRelease', CONFIG, ({ spec }) => getIgnitionVersion(spec) === '3.5.0'],
  ['OldIgnitionRelease', CONFIG, ({ spec }) => /^3\.[34]\./.test(getIgnitionVersion(spec))],
  ['KernelDevel', CONFIG, hasKernelDevelWithoutKernel],
  ['BuiltInPool', POOL, ({ name }) => ROLES.includes(name)],
  ['EmptyPool', POOL, ({ spec }, { configLabels }) => !configLabels.some((labels) => selects(spec, labels))],
  ['EmptyRole', POOL, ({ spec }) => !ROLES.some((role) => selects(spec, { [ROLE_LABEL]: role }))],
  ['MultipleConfigs', SELECTING, findRival],
  ['UnselectedPool', SELECTING, (object, { findSelectedPools }) => findSelectedPools(object).length === 0],
  ['CgroupRelease', 'Node', ({ spec }) => spec['cgroupMode'] === 'v1'],
  ['RuntimeRelease', RUNTIME, ({ spec }) => getField(spec, 'containerRuntimeConfig', 'defaultRuntime') === 'runc'],
  ['MirrorRelease', 'ImageContentSourcePolicy', (_, { all }) => all.some(({ kind }) => kind.endsWith('MirrorSet'))],
  ['PolicyRelease', 'ClusterImagePolicy ImagePolicy', ({ apiVersion }) => apiVersion.endsWith('/v1')],
  ['PrebuiltRelease', 'MachineOSConfig', ({ annotations }) => !String(annotations[PREBUILT]).includes('@sha256:')],
];

export function changesRenders(object: ManifestObject, directory: ManifestDirectory): boolean {
  const { id, kind, name, labels } = object;
  if (kind === POOL) return ROLES.includes(name);
  if (kind === CONFIG) {
    const isEmpty = listParts(object.spec).every(({ name: part }) => part === 'config.ignition.version');
    return !isEmpty && directory.findPools(labels).length > 0 && !isEqualConfig(object, directory.first.get(id));
  }
  return kinds.isRenderInput(id) && (!SELECTING.includes(kind) || directory.findSelectedPools(object).length > 0);
}

function findPlaceholders({ id, value, document }: ManifestObject): Findings {
  const found: [string, number][] = [];
  const search = (collection: Json, path: string): void => {
    for (const [key, item] of Object.entries(collection)) {
      const pattern = key === 'source' && String(item).startsWith('data:') ? PLACEHOLDER_SOURCE : PLACEHOLDER;
      if (FREE_TEXT.test(key) || (key === 'contents' && typeof item === 'string')) continue;
      if (typeof item === 'object' && item !== null) search(item as Json, `${path}${key}.`);
      else if (pattern.test(String(item))) found.push([path + key, document.findLine(collection, key)]);
    }
  };
  // Other objects can contain templates.
  search(kinds.isRenderInput(id) ? value : { metadata: value['metadata'] }, '');
  return found;
}

function findMissingDefinition({ apiVersion }: ManifestObject, { all }: ManifestDirectory): Findings {
  const group = kinds.findForeignGroup(apiVersion);
  if (group === undefined) return undefined;
  return !all.some(({ kind, spec }) => kind === 'CustomResourceDefinition' && spec['group'] === group) && group;
}

function isOpenShift({ namespace }: ManifestObject): boolean {
  return namespace.startsWith('openshift-');
}

function findMissingNamespace({ namespace, id }: ManifestObject, { first }: ManifestDirectory): Findings {
  const exists = namespace === '' || kinds.isClusterScoped(id) || kinds.isExistingNamespace(namespace);
  return !exists && !first.has(`v1/Namespace//${namespace}`) && namespace;
}

function findDuplicate(object: ManifestObject, { first }: ManifestDirectory): Findings {
  const other = first.get(object.id);
  return other !== object && !isEqualConfig(object, other) && other?.manifest.file;
}

/** Equal configs render like one, except for their kernel arguments and extensions. */
function isEqualConfig(object: ManifestObject, other: ManifestObject | undefined): boolean {
  const { kind, labels, spec } = object;
  if (other === undefined || other === object || kind !== CONFIG || spec['kernelArguments'] || spec['extensions'])
    return false;
  return isDeepStrictEqual([getRole(labels), spec], [getRole(other.labels), other.spec]);
}

function getRole(labels: Json | undefined): string | undefined {
  const role = labels?.[ROLE_LABEL];
  return typeof role === 'string' && role !== '' ? `role ${role}` : undefined;
}

function hasOperatorName({ name }: ManifestObject, { all, findSelectedPools }: ManifestDirectory): boolean {
  return ROLES.some((role) => {
    const isSelectedBy = (kind: string) =>
      all.some((each) => each.kind === kind && findSelectedPools(each).includes(role));
    return kinds.isOperatorName(name, role, isSelectedBy);
  });
}

function getIgnitionVersion({ config }: Json): string {
  const version = getField(config, 'ignition', 'version');
  return isRecord(config) ? (typeof version === 'string' ? version : '') : 'none';
}

function getField(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce((field, key) => (isRecord(field) ? field[key] : undefined), value);
}

/** What the daemon cannot compare with the disk (machine-config-operator, pkg/daemon/on_disk_validation.go). */
function findUncomparedFiles({ spec, document }: ManifestObject): Findings {
  const files = getField(spec, 'config', 'storage', 'files');
  if (!Array.isArray(files)) return undefined;
  return files.flatMap((file: unknown, index) => {
    const [append, source] = [getField(file, 'append'), getField(file, 'contents', 'source')];
    const isRemote = typeof source === 'string' && source !== '' && !source.startsWith('data:');
    return isRemote || (Array.isArray(append) ? append.length > 0 : append === true)
      ? [[`spec.config.storage.files[${index}]`, document.findLine(files, index)]]
      : [];
  });
}

function hasKernelDevelWithoutKernel({ labels, spec }: ManifestObject, { all, findPools }: ManifestDirectory): boolean {
  const { extensions } = spec;
  if (!Array.isArray(extensions) || !extensions.includes('kernel-devel')) return false;
  const pools = findPools(labels);
  const others = all.filter((other) => /^(?:realtime|64k-pages)$/.test(String(other.spec['kernelType'])));
  return others.some((other) => findPools(other.labels).some((pool) => pools.includes(pool)));
}

function selects(spec: Json, labels: Json): boolean {
  return matchesNodeSelector(spec['machineConfigSelector'], labels);
}

function findRival(object: ManifestObject, { all, findSelectedPools }: ManifestDirectory): Findings {
  const pools = findSelectedPools(object);
  const rivals = all.filter(({ kind, id }) => kind === object.kind && id !== object.id);
  return rivals.find((rival) => findSelectedPools(rival).some((pool) => pools.includes(pool)))?.manifest.file;
}
