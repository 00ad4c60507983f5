import { toPrintableLine } from '../common/printable-text.ts';
import { formatPath } from '../files/file-error.ts';
import { createNodeBudget, MAX_NODES_OF_DIRECTORY } from '../files/yaml-document.ts';
import { parseStream, type StreamDocument, type YamlStream } from '../files/yaml-stream.ts';
import { matchesNodeSelector } from '../mco/pool-of-node.ts';
import { isRecord } from '../rendered-config/rendered-config.ts';
import { listDefinedKinds } from './defined-kinds.ts';
import type { Installer, ManifestFile, ManifestInput } from './read-manifests.ts';
import { getGroup, KindCatalog, type KindVersion } from './schemas.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Manifest extends YamlStream {
  readonly file: string;
  readonly fileName: string;
  readonly content: Buffer;
  readonly objects: readonly ManifestObject[];
}

export interface ManifestObject {
  readonly manifest: Manifest;
  readonly document: StreamDocument;
  readonly value: Json;
  /** `apiVersion/kind/namespace/name`, printable like its parts. */
  readonly id: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly group: string;
  /** `group Kind`, such as MACHINE_CONFIG. */
  readonly type: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Json | undefined;
  readonly annotations: Json;
  readonly spec: Json;
}

type KindName = Pick<ManifestObject, 'apiVersion' | 'kind'>;

const MCO = 'machineconfiguration.openshift.io';
/** Kinds as `group Kind`. */
export const MACHINE_CONFIG = `${MCO} MachineConfig`;
export const POOL = `${MCO} MachineConfigPool`;
export const KUBELET_CONFIG = `${MCO} KubeletConfig`;
export const RUNTIME_CONFIG = `${MCO} ContainerRuntimeConfig`;
const DEFINITION = 'apiextensions.k8s.io CustomResourceDefinition';
export const ROLE_LABEL = `${MCO}/role`;
/** Of the pools that an install creates. */
export const ROLES = ['master', 'worker', 'arbiter'];
const MAX_ID_LENGTH = 253;
/** The Assisted installer, which the agent-based one starts, splits files from this release on (MGMT-15715). */
const FIRST_SPLIT = '4.15';
const BUILT_IN_POOLS = ROLES.map((name) => {
  const labels: Json = { [`${MCO}/mco-built-in`]: '', [`pools.operator.${MCO}/${name}`]: '' };
  const selector: unknown = { matchLabels: { [ROLE_LABEL]: name } };
  return { name, labels, selector };
});

/** The manifests of an install, in the order in which cluster-bootstrap creates their objects: sorted by file name. */
export class ManifestSet {
  readonly catalog = KindCatalog.shared();
  readonly installer: Installer | undefined;
  readonly installConfig: Json | undefined;
  readonly release: string | undefined;
  /** The releases that the cluster can have, of those with known schemas. */
  readonly schemaReleases: readonly string[];
  readonly manifests: Manifest[] = [];
  readonly all: ManifestObject[] = [];
  readonly byId = new Map<string, ManifestObject>();
  /** The labels of the MachineConfigs, and of those that the operator adds for each pool. */
  readonly configLabels: Json[] = ROLES.map((role) => ({ [ROLE_LABEL]: role }));
  /** Those of the CRDs. */
  readonly definedKinds: KindVersion[] = [];
  readonly #pools = [...BUILT_IN_POOLS];
  readonly #budget = createNodeBudget(MAX_NODES_OF_DIRECTORY);

  /** @param release major and minor, such as `4.20` */
  constructor({ files, installer, installConfig }: ManifestInput, release?: string) {
    this.installer = installer;
    this.installConfig = installConfig;
    this.release = release;
    const { releases } = this.catalog;
    // An older or a newer release has the kinds of the nearest known one.
    const nearest = releases.findLast((each) => compareReleases(each, release ?? '') <= 0) ?? releases[0] ?? '';
    this.schemaReleases = release === undefined ? releases : [nearest];
    for (const file of files) if (file.ignored === undefined) this.#add(file);
  }

  #add({ path, content, line = 0 }: ManifestFile): void {
    if (content === undefined) return;
    const file = formatPath(path);
    const objects: ManifestObject[] = [];
    const stream = parseStream(content, file, this.#budget, line + 1);
    const manifest = { ...stream, file, fileName: path.slice(path.lastIndexOf('/') + 1), content, objects };
    for (const document of stream.documents) {
      if (document.value !== null && document.value !== undefined) objects.push(this.#describe(manifest, document));
    }
    this.manifests.push(manifest);
    for (const object of objects) this.#addObject(object);
  }

  /** @param type `group Kind` */
  readonly listOfType = (type: string): readonly ManifestObject[] => this.all.filter((each) => each.type === type);

  /** The names of the pools that select a MachineConfig with these labels. */
  readonly findPools = (labels: Json = {}): string[] =>
    this.#pools.filter(({ selector }) => matchesNodeSelector(selector, labels)).map(({ name }) => name);

  /** The names of the pools that a KubeletConfig or a ContainerRuntimeConfig selects. */
  readonly findSelectedPools = ({ spec: { machineConfigPoolSelector: selector } }: ManifestObject): string[] =>
    this.#pools.filter(({ labels }) => matchesNodeSelector(selector, labels)).map(({ name }) => name);

  /** What the kind of an object is in any release. If none has it: what the CRDs of the manifests make of it. */
  findKinds({ apiVersion, kind }: KindName): readonly KindVersion[] {
    const known = this.catalog.find(apiVersion, kind);
    if (known.length > 0) return known;
    return this.definedKinds.filter((each) => each.apiVersion === apiVersion && each.kind === kind);
  }

  /** What the kind of an object is in the releases and the feature set that the cluster can have. */
  findVersions(object: KindName): readonly KindVersion[] {
    const { featureSet, schemaReleases } = this;
    return this.findKinds(object)
      .filter(({ releases }) => schemaReleases.some((release) => releases.includes(release)))
      .filter(({ featureSets }) => featureSets === undefined || featureSets.includes(featureSet));
  }

  /** Whether the installer gives each document a file of its own. Undefined if only some releases do. */
  get splitsFiles(): boolean | undefined {
    const { installer, release } = this;
    if (installer === undefined || installer === 'stream') return installer === 'stream';
    return release === undefined ? undefined : compareReleases(release, FIRST_SPLIT) >= 0;
  }

  get featureSet(): string {
    const gate = this.byId.get('config.openshift.io/v1/FeatureGate//cluster');
    const { featureSet } = gate?.spec ?? this.installConfig ?? {};
    return typeof featureSet === 'string' && featureSet !== '' ? featureSet : 'Default';
  }

  #addObject(object: ManifestObject): void {
    const { id, type, name, labels = {}, spec } = object;
    this.all.push(object);
    if (!this.byId.has(id)) this.byId.set(id, object);
    if (type === MACHINE_CONFIG) this.configLabels.push(labels);
    if (type === DEFINITION) this.definedKinds.push(...listDefinedKinds(spec));
    if (type !== POOL) return;
    this.#pools.push({ name, labels, selector: spec['machineConfigSelector'] });
    this.configLabels.push({ [ROLE_LABEL]: name });
  }

  #describe(manifest: Manifest, document: StreamDocument): ManifestObject {
    const value = toRecord(document.value) ?? {};
    const metadata = toRecord(value['metadata']) ?? {};
    const texts = [value['apiVersion'], value['kind'], metadata['namespace'], metadata['name']].map((text) =>
      typeof text === 'string' ? toPrintableLine(text, MAX_ID_LENGTH) : '',
    );
    const [apiVersion = '', kind = '', namespace = '', name = ''] = texts;
    const group = getGroup(apiVersion);
    return {
      manifest,
      document,
      value,
      id: texts.join('/'),
      apiVersion,
      kind,
      group,
      type: `${group} ${kind}`,
      namespace,
      name,
      labels: toRecord(metadata['labels']),
      annotations: toRecord(metadata['annotations']) ?? {},
      spec: toRecord(value['spec']) ?? {},
    };
  }
}

/** The order of two releases, such as `4.9` and `4.20`. */
export const compareReleases = new Intl.Collator('en', { numeric: true }).compare;

function toRecord(value: unknown): Json | undefined {
  return isRecord(value) ? value : undefined;
}
