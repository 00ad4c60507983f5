import { toPrintableLine } from '../../../common/printable-text.ts';
import { formatPath } from '../../../files/file-error.ts';
import { parseStream, type StreamDocument, type YamlStream } from '../../../files/yaml-stream.ts';
import { matchesNodeSelector } from '../../../mco/pool-of-node.ts';
import { isRecord } from '../../../rendered-config/rendered-config.ts';

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
  readonly namespace: string;
  readonly name: string;
  readonly labels: Json | undefined;
  readonly annotations: Json;
  readonly spec: Json;
}

const MCO = 'machineconfiguration.openshift.io';
export const ROLE_LABEL = `${MCO}/role`;
/** Of the pools that an install creates. */
export const ROLES = ['master', 'worker', 'arbiter'];
export const MAX_NODES = 500_000;
const MAX_ID_LENGTH = 253;
const BUILT_IN_POOLS = ROLES.map((name) => {
  const labels: Json = { [`${MCO}/mco-built-in`]: '', [`pools.operator.${MCO}/${name}`]: '' };
  const selector: unknown = { matchLabels: { [ROLE_LABEL]: name } };
  return { name, labels, selector };
});

export class ManifestDirectory {
  readonly manifests: Manifest[] = [];
  readonly all: ManifestObject[] = [];
  readonly first = new Map<string, ManifestObject>();
  /** Of the MachineConfigs, and of those that the operator adds for each pool. */
  readonly configLabels: Json[] = ROLES.map((role) => ({ [ROLE_LABEL]: role }));
  readonly #pools = [...BUILT_IN_POOLS];
  readonly #budget = { nodesLeft: MAX_NODES };

  add(path: string, content: Buffer): void {
    const file = formatPath(path);
    const objects: ManifestObject[] = [];
    const stream = parseStream(content, file, this.#budget);
    const manifest = { ...stream, file, fileName: path.slice(path.lastIndexOf('/') + 1), content, objects };
    for (const document of stream.documents) {
      if (document.value !== null && document.value !== undefined) objects.push(describe(manifest, document));
    }
    this.manifests.push(manifest);
    this.all.push(...objects);
    for (const object of objects) {
      const { id, kind, name, labels = {}, spec } = object;
      if (!this.first.has(id)) this.first.set(id, object);
      if (kind === 'MachineConfig') this.configLabels.push(labels);
      if (kind !== 'MachineConfigPool') continue;
      this.#pools.push({ name, labels, selector: spec['machineConfigSelector'] });
      this.configLabels.push({ [ROLE_LABEL]: name });
    }
  }

  /** The names of the pools that select a MachineConfig with these labels. */
  readonly findPools = (labels: Json = {}): string[] =>
    this.#pools.filter(({ selector }) => matchesNodeSelector(selector, labels)).map(({ name }) => name);

  /** The names of the pools that a KubeletConfig or a ContainerRuntimeConfig selects. */
  readonly findSelectedPools = ({ spec: { machineConfigPoolSelector: selector } }: ManifestObject): string[] =>
    this.#pools.filter(({ labels }) => matchesNodeSelector(selector, labels)).map(({ name }) => name);
}

function describe(manifest: Manifest, document: StreamDocument): ManifestObject {
  const value = toRecord(document.value) ?? {};
  const metadata = toRecord(value['metadata']) ?? {};
  const texts = [value['apiVersion'], value['kind'], metadata['namespace'], metadata['name']].map((text) =>
    typeof text === 'string' ? toPrintableLine(text, MAX_ID_LENGTH) : '',
  );
  const [apiVersion = '', kind = '', namespace = '', name = ''] = texts;
  const names = { id: texts.join('/'), apiVersion, kind, namespace, name };
  const [labels, annotations = {}, spec = {}] = [metadata['labels'], metadata['annotations'], value['spec']].map(
    toRecord,
  );
  return { manifest, document, value, ...names, labels, annotations, spec };
}

function toRecord(value: unknown): Json | undefined {
  return isRecord(value) ? value : undefined;
}
