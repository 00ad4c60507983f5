import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { KindCatalog, type KindVersion } from '../../src/manifests/schemas.ts';
import { convertSchema, FORMATS, type Json, RECURSIVE, resolvePointer, sortKeys } from './convert-schema.ts';
import { downloadModule, runGo } from './go-modules.ts';
import { addOverlay, addTypeOverlay, checkOverlay, removeRules } from './overlay.ts';
import {
  AGGREGATED,
  API,
  AUTOSCALER,
  IGNITION,
  KUBERNETES,
  METAL3,
  MONITORING,
  NODE_TUNING,
  OLM,
  OPERATOR,
  RELEASES,
  type ReleaseSources,
  WITHOUT_SCHEMA,
} from './sources.ts';

/** What a kind is in one release. */
interface FoundKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly scope: string;
  /** Undefined if every cluster has it, or else the feature sets of those that have it. */
  readonly featureSets?: readonly string[];
  /** Whether a program decodes it into a Go type, for which a null is like a missing value. */
  readonly isGo: boolean;
  /** Module and file. */
  readonly source: string;
  readonly schema: unknown;
}

interface Definition {
  readonly path: string;
  readonly object: {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: {
      readonly group: string;
      readonly scope: string;
      readonly names: { readonly kind: string };
      readonly versions: readonly {
        readonly name: string;
        readonly served: boolean;
        readonly schema: { readonly openAPIV3Schema: Json };
      }[];
    };
  };
}

interface Swagger {
  readonly definitions: Readonly<Record<string, Json>>;
  readonly paths: Readonly<Record<string, { readonly post?: Json }>>;
}

const [NAMES, FUNCTIONS] = ['names.yaml', 'functions.yaml'].map(
  (file) => parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as unknown,
);
const FEATURE_SET = 'release.openshift.io/feature-set';
const SELF_MANAGED = 'include.release.openshift.io/self-managed-high-availability';
/** Of a directory with a CRD for each version of the operator, and of examples. */
const IGNORED_CRD = /\/openshift\/api@[^/]*\/(?:vendor|payload-manifests|example|hack|tests?)\//;
const IGNITION_VERSIONS = ['3.0', '3.1', '3.2', '3.3', '3.4', '3.5'];
const MONITORING_FILES = ['podmonitors', 'prometheusrules', 'servicemonitors'].map(
  (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
);
const METAL3_FILES = ['baremetalhosts', 'hostfirmwaresettings'].map(
  (name) => `config/base/crds/bases/metal3.io_${name}.yaml`,
);
/** Of Kubernetes itself: the CRDs of volume snapshots, which every release has. */
const SNAPSHOTS = 'cluster/addons/volumesnapshots/crd';
const AUTOSCALER_FILES = ['01_clusterautoscaler', '02_machineautoscaler'].map((name) => `install/${name}.crd.yaml`);
/** In a CRD, `1 hour 30 min` is one, too (kube-openapi, pkg/validation/strfmt/duration.go). */
const WORDS_OF_DURATION = {
  conversion: 'duration(self)',
  pattern: String.raw`\d\s*[nuµmshdw]|^0?$`,
  must: { pattern: 'be a duration, such as 5m' },
};
const METADATA = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
/** An API server serves only these without a flag. */
const SERVED_VERSION = /(?:^|\/)v\d+$|^flowcontrol\.\S+\/v1beta[23]$/;
const NOT_AN_OBJECT = /^(?:Binding|DeleteOptions|Eviction|.*Review|TokenRequest|Scale)$/;
/** A part that several schemas share, in characters of JSON. */
const MIN_SHARED = 160;

/** The lines of the data file (src/manifests/schemas.jsonl). */
export async function collectSchemas(): Promise<string[]> {
  const types = (await runGo(['types'])).map((line) => JSON.parse(line) as { name: string; schema: Json });
  const getType = (name: string): unknown =>
    convertSchema(types.find((type) => type.name === name)?.schema ?? {}, { ignoresCase: true });
  const kubelet = getType('k8s.io/kubelet/config/v1beta1 KubeletConfiguration');
  const { metadata, recursive } = await readNewestTypes();
  const releases = new Map<string, readonly FoundKind[]>();
  for (const release of RELEASES) {
    const kinds = await collectRelease(release, kubelet);
    releases.set(
      release.openshift,
      kinds.map((kind) => ({ ...kind, schema: setMetadata(kind.schema as Json, metadata) })),
    );
  }
  for (const [index, { openshift, api }] of RELEASES.entries()) {
    if (api !== undefined) continue;
    const [before = [], kept = [], after = []] = [-1, 0, 1].map((step) =>
      releases.get(RELEASES[index + step]?.openshift ?? ''),
    );
    releases.set(openshift, takeUnchanged(kept, before, after));
  }
  const ignition = await collectIgnition(getType('github.com/coreos/ignition/config/v2_2/types Config'));
  const lines = formatLines(releases, [...ignition, ...createOpenKinds(metadata)], recursive);
  checkOverlay();
  return lines;
}

/** The schema with that of all metadata, and with what a CRD says about names besides. */
function setMetadata(schema: Json, metadata: unknown): Json {
  const { metadata: own } = (schema['properties'] ?? {}) as Readonly<Record<string, Json>>;
  const known = setProperty(schema, ['metadata'], metadata);
  const { name } = (own?.['properties'] ?? {}) as Readonly<Record<string, Json>>;
  if (name?.['enum'] === undefined && name?.['pattern'] === undefined) return known;
  return { ...known, allOf: [{ properties: { metadata: own } }] };
}

/**
 * Kinds without a CRD in any module, whose spec has only what the overlay says, and the one that stands for all others,
 * of which only the metadata have a schema. Besides them what each format of a CRD means, as the fields of a kind.
 */
function createOpenKinds(metadata: unknown): FoundKind[] {
  const bare = { isOpen: true, properties: { metadata }, type: 'object' };
  const schema = { ...bare, properties: { metadata, spec: { isOpen: true, type: 'object' } } };
  const source = `${KUBERNETES}@${RELEASES.at(-1)?.kubernetes} swagger.json`;
  const formats = Array.from(FORMATS, (format) => {
    const type = format.startsWith('int') ? 'integer' : 'string';
    return [format, convertSchema({ type, format }, {})] as const;
  });
  const allFormats = {
    apiVersion: 'internal/formats',
    kind: 'Formats',
    scope: 'Cluster',
    isGo: false,
    source: 'k8s.io/apiextensions-apiserver@v0.33.0 pkg/apiserver/validation/formats.go',
    schema: { properties: sortKeys({ ...Object.fromEntries(formats), duration: WORDS_OF_DURATION }) },
  };
  const open = Object.entries(WITHOUT_SCHEMA).map(([name, scope]) => {
    const [apiVersion = '', kind = ''] = name.split(' ');
    return { apiVersion, kind, scope, isGo: false, source, schema };
  });
  const any = { apiVersion: 'internal/any', kind: 'Object', scope: 'Cluster', isGo: false, source, schema: bare };
  return [...open, any, allFormats];
}

/** The types that are the same for all releases: the metadata, and the one that contains itself. */
async function readNewestTypes(): Promise<{ readonly metadata: unknown; readonly recursive: unknown }> {
  const module = await downloadModule(`${KUBERNETES}@${RELEASES.at(-1)?.kubernetes}`);
  const { definitions } = readJson(join(module, 'api/openapi-spec/swagger.json')) as Swagger;
  const context = { definitions, isGo: true };
  const name = Object.keys(definitions).find((each) => each.endsWith(`apiextensions.v1.${RECURSIVE}`));
  return {
    metadata: convertSchema(definitions[METADATA] ?? {}, context),
    recursive: convertSchema({ $ref: `#/definitions/${name}` }, { ...context, addToType: addTypeOverlay }),
  };
}

async function collectRelease(release: ReleaseSources, kubelet: unknown): Promise<FoundKind[]> {
  const kubernetes = await downloadModule(`${KUBERNETES}@${release.kubernetes}`);
  const swagger = readJson(join(kubernetes, 'api/openapi-spec/swagger.json')) as Swagger;
  const snapshots = await readDefinitions([join(kubernetes, SNAPSHOTS)]);
  const builtIn = [
    ...listBuiltIn(swagger, release),
    // A release can have newer ones, with more fields.
    ...snapshots.flatMap((each) => listVersions(each, `${KUBERNETES}@${release.kubernetes} ${SNAPSHOTS}`, {}, true)),
  ];
  if (release.api === undefined) return [...keepCustomKinds(release.openshift), ...builtIn];
  const api = await downloadModule(`${API}@${release.api}`);
  const folders = [api];
  if (!existsSync(join(api, 'machineconfiguration'))) folders.push(join(await downloadModule(OPERATOR), 'install'));
  const olm = await downloadModule(OLM);
  const monitoring = await downloadModule(MONITORING);
  const nodeTuning = await downloadModule(NODE_TUNING);
  const metal3 = await downloadModule(METAL3);
  const autoscaler = await downloadModule(AUTOSCALER);
  folders.push(
    join(olm, 'crds'),
    join(nodeTuning, 'manifests'),
    ...AUTOSCALER_FILES.map((file) => join(autoscaler, file)),
    ...MONITORING_FILES.map((file) => join(monitoring, file)),
    ...METAL3_FILES.map((file) => join(metal3, file)),
  );
  const definitions = await readDefinitions(folders);
  // A newer release can have more fields.
  const old = [nodeTuning, metal3, autoscaler];
  const roots = [api, olm, monitoring, ...old, await downloadModule(OPERATOR)];
  const toSource = (path: string): string => {
    const root = roots.find((each) => path.startsWith(each)) ?? '';
    return `${root.replace(/^.*\/pkg\/mod\//, '')} ${relative(root, path)}`;
  };
  const isGenerated = definitions.some(({ path }) => path.includes('zz_generated.crd-manifests'));
  const served = definitions.filter(({ path, object }) => {
    const annotations = object.metadata.annotations ?? {};
    const isPayload = !path.startsWith(api) || !isGenerated || path.includes('zz_generated.crd-manifests');
    // OKD is another distribution.
    const isOkd = annotations[FEATURE_SET] === 'OKD';
    const isSelfManaged = annotations[SELF_MANAGED] === 'true' || annotations[FEATURE_SET] === undefined;
    return isPayload && isSelfManaged && !isOkd && !IGNORED_CRD.test(path);
  });
  const custom = served.flatMap((definition) => {
    const isOpen = old.some((root) => definition.path.startsWith(root));
    return listVersions(definition, toSource(definition.path), kubelet, isOpen);
  });
  const names = new Set(custom.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
  const openapi = readJson(join(api, 'openapi/openapi.json')) as Swagger;
  const aggregated = Object.entries(AGGREGATED)
    .filter(([name]) => !names.has(name))
    .map(([name, scope]) => findAggregated(name, scope, openapi, release));
  return [...custom, ...builtIn, ...aggregated];
}

/** The kinds, with the schema of the releases before and after it where these are alike. */
function takeUnchanged(
  kept: readonly FoundKind[],
  before: readonly FoundKind[],
  after: readonly FoundKind[],
): readonly FoundKind[] {
  return kept.map((kind) => {
    const isSame = (other: FoundKind): boolean =>
      other.apiVersion === kind.apiVersion &&
      other.kind === kind.kind &&
      isDeepStrictEqual(other.featureSets, kind.featureSets);
    const schema = before.find(isSame)?.schema;
    const isUnchanged = schema !== undefined && isDeepStrictEqual(schema, after.find(isSame)?.schema);
    return isUnchanged ? { ...kind, schema } : kind;
  });
}

async function readDefinitions(folders: readonly string[]): Promise<Definition[]> {
  return (await runGo(['crds', ...folders])).map((line) => JSON.parse(line) as Definition);
}

/** What the data file says about a release, of the kinds that a kube-apiserver does not serve itself. */
function keepCustomKinds(release: string): FoundKind[] {
  const catalog = KindCatalog.shared();
  return [...catalog.names].flatMap((name) => {
    const [apiVersion = '', kind = ''] = name.split(' ');
    const versions = catalog.find(apiVersion, kind) as readonly (KindVersion & { readonly source: string })[];
    return versions
      .filter(
        ({ source, releases }) =>
          releases.includes(release) && !name.startsWith('internal/') && !source.startsWith(KUBERNETES),
      )
      .map(({ featureSets, isNamespaced, isGo = false, source, schema }) => {
        const scope = isNamespaced === true ? 'Namespaced' : 'Cluster';
        return {
          apiVersion,
          kind,
          scope,
          ...(featureSets && { featureSets }),
          isGo,
          source,
          schema: removeRules(schema),
        };
      });
  });
}

/** @param isOpen whether objects may have unknown fields */
function listVersions({ object }: Definition, source: string, kubelet: unknown, isOpen: boolean): FoundKind[] {
  const { group, scope, names, versions } = object.spec;
  const featureSet = object.metadata.annotations?.[FEATURE_SET];
  return versions
    .filter((version) => version.served)
    .map((version) => {
      const converted = convertSchema(version.schema.openAPIV3Schema, { isOpen }) as { properties?: Json };
      // The API server drops the status of a new object before it validates it.
      const properties = converted.properties ?? {};
      const schema = { ...converted, properties: { ...properties, ...('status' in properties && { status: {} }) } };
      return {
        apiVersion: `${group}/${version.name}`,
        kind: names.kind,
        scope,
        ...(featureSet !== undefined && { featureSets: featureSet.split(',').toSorted() }),
        isGo: false,
        source,
        schema: replaceContents(names.kind, schema, kubelet),
      };
    });
}

/** What the operator decodes itself. */
function replaceContents(kind: string, schema: Json, kubelet: unknown): Json {
  if (kind === 'KubeletConfig') return setProperty(schema, ['spec', 'kubeletConfig'], kubelet);
  if (kind === 'MachineConfig') return setProperty(schema, ['spec', 'config'], { isOpen: true, type: 'object' });
  return schema;
}

function setProperty(schema: Json, [name = '', ...rest]: readonly string[], value: unknown): Json {
  const properties = schema['properties'] as Json;
  const inner = rest.length === 0 ? value : setProperty(properties[name] as Json, rest, value);
  return { ...schema, properties: { ...properties, [name]: inner } };
}

/** The kinds that a kube-apiserver serves, and of which it creates objects. */
function listBuiltIn({ definitions, paths }: Swagger, release: ReleaseSources): FoundKind[] {
  return Object.entries(paths).flatMap(([path, { post }]) => {
    const type = post?.['x-kubernetes-group-version-kind'] as Record<'group' | 'version' | 'kind', string> | undefined;
    const [body] = (post?.['parameters'] ?? []) as readonly { readonly schema?: { readonly $ref?: string } }[];
    const reference = body?.schema?.$ref?.split('/').at(-1);
    if (type === undefined || reference === undefined || NOT_AN_OBJECT.test(type.kind)) return [];
    const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`;
    if (!SERVED_VERSION.test(apiVersion)) return [];
    // The API server does not check the pods of a StatefulSet.
    const addToType = type.kind === 'StatefulSet' ? {} : { addToType: addTypeOverlay };
    return [
      {
        apiVersion,
        kind: type.kind,
        scope: path.includes('{namespace}') ? 'Namespaced' : 'Cluster',
        isGo: true,
        source: `${KUBERNETES}@${release.kubernetes} api/openapi-spec/swagger.json`,
        schema: convertSchema(definitions[reference] ?? {}, { definitions, isGo: true, ...addToType }),
      },
    ];
  });
}

function findAggregated(name: string, scope: string, { definitions }: Swagger, release: ReleaseSources): FoundKind {
  const [apiVersion = '', kind = ''] = name.split(' ');
  const [group = '', version = ''] = apiVersion.split('/');
  const schema = definitions[`com.github.openshift.api.${group.split('.')[0]}.${version}.${kind}`];
  if (schema === undefined) throw new Error(`${API}@${release.api} has no ${name}`);
  return {
    apiVersion,
    kind,
    scope,
    isGo: true,
    source: `${API}@${release.api} openapi/openapi.json`,
    schema: convertSchema(schema, { definitions, isGo: true }),
  };
}

async function collectIgnition(version2: unknown): Promise<FoundKind[]> {
  const root = await downloadModule(IGNITION);
  const common = { kind: 'Config', scope: 'Cluster', isGo: true };
  const versions = IGNITION_VERSIONS.map((version) => {
    const file = `config/v${version.replace('.', '_')}/schema/ignition.json`;
    const schema = readJson(join(root, file)) as Json;
    const resolve = (reference: string): Json => resolvePointer(schema, reference);
    const converted = convertSchema(schema, { resolve, isGo: true, ignoresCase: true });
    return { apiVersion: `internal/ignition/${version}`, ...common, source: `${IGNITION} ${file}`, schema: converted };
  });
  const source = 'github.com/coreos/ignition@v0.35.0 config/v2_2/types';
  return [{ apiVersion: 'internal/ignition/2', ...common, source, schema: version2 }, ...versions];
}

/** Gives each part that several schemas share a name, which is a hash of its content. */
class SharedParts {
  readonly #counts = new Map<string, number>();
  readonly #parts = new Map<string, string>();

  /** Counts how often the schema and its parts are there. */
  count(schema: unknown): void {
    if (typeof schema !== 'object' || schema === null) return;
    const text = JSON.stringify(schema);
    if (text.length < MIN_SHARED) return;
    const count = this.#counts.get(text) ?? 0;
    this.#counts.set(text, count + 1);
    if (count === 0) for (const part of Object.values(schema)) this.count(part);
  }

  /** The schema with references instead of its shared parts. */
  replace(schema: unknown, isRoot = false): unknown {
    if (typeof schema !== 'object' || schema === null) return schema;
    const text = JSON.stringify(schema);
    if (text.length < MIN_SHARED) return schema;
    const isShared = !isRoot && !Array.isArray(schema) && (this.#counts.get(text) ?? 0) > 1;
    const id = createHash('sha256').update(text).digest('hex').slice(0, 8);
    if (isShared && this.#parts.has(id)) return { $ref: id };
    const entries = Object.entries(schema).map(([key, part]) => [key, this.replace(part)] as const);
    const replaced: unknown = Array.isArray(schema) ? entries.map(([, part]) => part) : Object.fromEntries(entries);
    if (!isShared) return replaced;
    this.#parts.set(id, JSON.stringify({ id, schema: replaced }));
    return { $ref: id };
  }

  format(): string[] {
    return [...this.#parts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line);
  }
}

/** The kind in each feature set, or once if all are alike. */
function addOverlays(kind: FoundKind, release: string): FoundKind[] {
  const schema = addOverlay(kind, kind.schema as Json, release);
  const ofDefault = addOverlay(kind, kind.schema as Json, release, 'Default');
  if (kind.featureSets !== undefined || isDeepStrictEqual(schema, ofDefault)) return [{ ...kind, schema }];
  return [
    { ...kind, featureSets: ['Default'], schema: ofDefault },
    { ...kind, featureSets: ['CustomNoUpgrade', 'DevPreviewNoUpgrade', 'TechPreviewNoUpgrade'], schema },
  ];
}

function formatLines(
  releases: ReadonlyMap<string, readonly FoundKind[]>,
  internal: readonly FoundKind[],
  recursive: unknown,
): string[] {
  const pool = new SharedParts();
  const names = [...releases.keys()];
  const variants = new Map<string, FoundKind & { releases: string[] }>();
  for (const [release, kinds] of releases) {
    for (const kind of [...kinds, ...internal].flatMap((bare) => addOverlays(bare, release))) {
      const { source: _source, ...content } = kind;
      const key = JSON.stringify(content);
      const known = variants.get(key);
      if (known === undefined) variants.set(key, { ...kind, releases: [release] });
      // The source is the newest one.
      else Object.assign(known, { source: kind.source, releases: [...new Set([...known.releases, release])] });
    }
  }
  const all = [...variants.values()];
  for (const { schema } of all) pool.count(schema);
  pool.count(recursive);
  const part = JSON.stringify({ id: RECURSIVE, schema: pool.replace(recursive, true) });
  const lines = all.map(({ schema, isGo, scope, ...entry }) => {
    const flags = { ...(scope === 'Namespaced' && { isNamespaced: true }), ...(isGo && { isGo }) };
    return JSON.stringify({ ...entry, ...flags, schema: pool.replace(schema, true) });
  });
  return [
    JSON.stringify({ releases: names, names: NAMES, functions: FUNCTIONS }),
    ...lines.toSorted(),
    part,
    ...pool.format(),
  ];
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}
