import { toPrintableLine } from '../../../common/printable-text.ts';
import { formatPath } from '../../../files/file-error.ts';
import { parseStream, type StreamDocument, type YamlStream } from '../../../files/yaml-stream.ts';
import { matchesNodeSelector } from '../../../references/node-selector.ts';
import { isRecord } from '../../../rendered-config/rendered-config.ts';

export type Json = Readonly<Record<string, unknown>>;

/** A file that installers read. */
export interface Manifest extends YamlStream {
  /** Printable. */
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
  readonly namespace: string;
  readonly name: string;
  /** Undefined if it is not a mapping. */
  readonly labels: Json | undefined;
  readonly annotations: Json;
  readonly spec: Json;
}

interface Pool {
  readonly name: string;
  readonly labels: Json;
  readonly selector: unknown;
}

const MCO = 'machineconfiguration.openshift.io';
export const ROLE_LABEL = `${MCO}/role`;
/** Of the pools that an install creates. */
export const ROLES = ['master', 'worker', 'arbiter'];
/** Of a directory. */
export const MAX_NODES = 500_000;
const MAX_ID_LENGTH = 253;
const BUILT_IN_POOLS = ROLES.map((name): Pool => {
  const labels = { [`${MCO}/mco-built-in`]: '', [`pools.operator.${MCO}/${name}`]: '' };
  return { name, labels, selector: { matchLabels: { [ROLE_LABEL]: name } } };
});

/** What an installer gets, and what pools select of it. */
export class ManifestDirectory {
  readonly manifests: Manifest[] = [];
  /** The first of each id. */
  readonly objects = new Map<string, ManifestObject>();
  /** Of the MachineConfigs, those that the operator adds included. */
  readonly configLabels: Json[] = ROLES.map((role) => ({ [ROLE_LABEL]: role }));
  readonly #pools = [...BUILT_IN_POOLS];
  readonly #budget = { nodesLeft: MAX_NODES };

  /** @throws FileError if there are too many documents or values */
  add(path: string, content: Buffer): void {
    const stream = parseStream(content, formatPath(path), this.#budget);
    const objects: ManifestObject[] = [];
    const fileName = path.slice(path.lastIndexOf('/') + 1);
    const manifest = { ...stream, file: formatPath(path), fileName, content, objects };
    for (const document of stream.documents) {
      if (document.value !== null && document.value !== undefined) objects.push(describe(manifest, document));
    }
    this.manifests.push(manifest);
    for (const object of objects) {
      const { id, kind, name, labels = {}, spec } = object;
      if (!this.objects.has(id)) this.objects.set(id, object);
      if (kind === 'MachineConfig') this.configLabels.push(labels);
      if (kind !== 'MachineConfigPool') continue;
      this.#pools.push({ name, labels, selector: spec['machineConfigSelector'] });
      // The operator adds configs for each pool.
      this.configLabels.push({ [ROLE_LABEL]: name });
    }
  }

  /** The names of the pools that select a MachineConfig with these labels. */
  readonly findPools = (labels: Json = {}): string[] =>
    this.#pools.filter(({ selector }) => matchesNodeSelector(selector, labels)).map(({ name }) => name);

  /** The names of the pools that a KubeletConfig or a ContainerRuntimeConfig selects. */
  readonly findSelectedPools = ({ spec }: ManifestObject): string[] => {
    const selector = spec['machineConfigPoolSelector'];
    return this.#pools.filter(({ labels }) => matchesNodeSelector(selector, labels)).map(({ name }) => name);
  };
}

function describe(manifest: Manifest, document: StreamDocument): ManifestObject {
  const value = toRecord(document.value) ?? {};
  const metadata = toRecord(value['metadata']) ?? {};
  const texts = [value['apiVersion'], value['kind'], metadata['namespace'], metadata['name']].map((text) =>
    typeof text === 'string' ? toPrintableLine(text, MAX_ID_LENGTH) : '',
  );
  const [apiVersion = '', kind = '', namespace = '', name = ''] = texts;
  const [labels, annotations = {}, spec = {}] = [metadata['labels'], metadata['annotations'], value['spec']].map(
    toRecord,
  );
  return {
    manifest,
    document,
    value,
    id: texts.join('/'),
    apiVersion,
    kind,
    namespace,
    name,
    labels,
    annotations,
    spec,
  };
}

function toRecord(value: unknown): Json | undefined {
  return isRecord(value) ? value : undefined;
}

/** A mapping or a list. */
export function isCollection(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}
