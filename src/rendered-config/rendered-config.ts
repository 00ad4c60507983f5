import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { countNoun, joinFirst } from '../common/printable-text.ts';
import { FileError, formatPath } from '../files/file-error.ts';
import { listDirectory } from '../files/list-directory.ts';
import { readRegularFile } from '../files/read-file.ts';
import { parseJson, parseStream } from '../files/yaml-stream.ts';
import { type ConfigName, formatName, isRenderedConfig, toConfigName } from '../mco/machine-config.ts';

/** A rendered config as it is on a disk or in the API. Its spec can contain secrets. */
export interface RenderedConfig {
  readonly name: ConfigName;
  readonly apiVersion: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Where it was read. Several have equal copies. */
  readonly origins: readonly Origin[];
}

/** Where a copy of a config was read. */
export interface Origin {
  readonly type: 'api' | 'file' | 'node' | 'stdin';
  /** For messages, such as `node/worker-0:/etc/…`. Printable. */
  readonly label: string;
  /** The node whose disk it is from. */
  readonly node?: string;
}

export interface FoundConfigs {
  /** Sorted by name. Copies of one config with other content stand beside each other. */
  readonly configs: readonly RenderedConfig[];
  /**
   * Why files were not read that are named like a config, that mention a wanted one of which no copy was found, or
   * that are too large to look into.
   */
  readonly problems: readonly string[];
}

/** An object of the API has at most 3 MiB (etcd's request limit). Its YAML is larger. */
export const MAX_CONFIG_BYTES = 8 * 1024 * 1024;
const MAX_DEPTH = 100;
const API_VERSION = /^machineconfiguration\.openshift\.io\/v\d\w*$/;
const DEFAULT_API_VERSION = 'machineconfiguration.openshift.io/v1';
/** Of `oc get`, and of the API. */
const LIST_KIND = /^(?:MachineConfig)?List$/;
const KIND = /^[A-Z][A-Za-z]+$/;
/** Files that can contain a config: JSON and YAML, the copy of the machine-config-daemon, and what `oc get` wrote. */
const CONFIG_FILE = /(?:\.json|\.ya?ml|\/currentconfig|\/rendered-[^/]*)$/;
/** A file that contains a config, by its name, as on nodes, on the bootstrap host and in a must-gather. */
const LIKELY_CONFIG_FILE = /\/(?:rendered-[^/]*|mcs-machine-config-content\.json|currentconfig)$/;
/** The names in a text spare the parser most files of a must-gather. */
const CONFIG_NAMES = /name["']?\s*:\s*["']?(rendered-[-.\w]+)/g;
/** A must-gather of 250 nodes has about 50,000 files. */
const MAX_ENTRIES = 200_000;
const MAX_COPIES = 50;
const MAX_PROBLEMS = 10;
/** Folder of `/etc/mcs/bootstrap` (machine-config-operator, pkg/controller/bootstrap/bootstrap.go). */
const POOLS_FOLDER = 'machine-pools';

/**
 * Parses the JSON or YAML of one MachineConfig. The in-cluster machine-config-server and the machine-config-daemon
 * write it without kind and apiVersion. Ownership, uid and status of the file do not count.
 * @throws FileError
 */
export function parseRenderedConfig(text: string, origin: Origin): RenderedConfig {
  const objects = listObjects(text, origin.label);
  if (objects.length === 1) return toRenderedConfig(objects[0], origin);
  throw new FileError(`${origin.label} contains ${objects.length} objects, not one MachineConfig; choose another file`);
}

/**
 * Parses the rendered configs among all objects of a text, such as the List of `oc get machineconfigs -o yaml`.
 * @throws FileError also if there is none
 */
export function parseRenderedConfigs(text: string, origin: Origin): readonly RenderedConfig[] {
  const objects = listObjects(text, origin.label);
  if (objects.length === 1) return [toRenderedConfig(objects[0], origin)];
  const configs = objects.filter(isRenderedObject).map((object) => toConfig(object, origin));
  if (configs.length > 0) return configs;
  throw new FileError(
    `${origin.label} contains ${objects.length} objects, and no rendered config; choose another file`,
  );
}

function toRenderedConfig(object: unknown, origin: Origin): RenderedConfig {
  const { label: source } = origin;
  if (!isMachineConfig(object)) {
    const kind = String(getValue(object, 'kind'));
    const found = KIND.test(kind) ? `an object of kind ${kind}` : 'no object of Kubernetes';
    throw new FileError(`${source} contains ${found}, not one MachineConfig; choose another file`);
  }
  const config = toConfig(object, origin);
  if (isRenderedConfig(config.name)) return config;
  const name = formatName(config.name);
  throw new FileError(`${source} contains MachineConfig "${name}", which is not a rendered config`);
}

/**
 * Reads rendered configs below a directory, such as a must-gather. Skips all other files.
 * @param isWanted a must-gather can contain hundreds of configs of some MB
 * @throws FileError if the directory is unreadable or too large; the signal's reason
 */
export async function readRenderedConfigs(
  directory: string,
  isWanted: (name: ConfigName) => boolean,
  signal: AbortSignal,
): Promise<FoundConfigs> {
  const configs: RenderedConfig[] = [];
  const problems: { readonly message: string; readonly wanted: readonly ConfigName[] | undefined }[] = [];
  for (const path of await listTexts(directory, signal)) {
    const isLikely = LIKELY_CONFIG_FILE.test(path);
    // Undefined if the file can contain any config.
    let wanted: readonly ConfigName[] | undefined;
    try {
      const content = await readRegularFile(path, MAX_CONFIG_BYTES, signal);
      const text = content.toString();
      const names = Array.from(text.matchAll(CONFIG_NAMES), ([, name]) => toConfigName(String(name)));
      // A file that is named like a config and contains no name is damaged.
      if (!names.some(isWanted) && !(isLikely && names.length === 0)) continue;
      wanted = isLikely ? undefined : names.filter(isWanted);
      for (const object of listObjects(text, formatPath(path)).filter(isRenderedObject)) {
        const config = toConfig(object, toFileOrigin(path));
        if (isWanted(config.name)) addCopy(configs, config);
      }
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      problems.push({ message: error.message, wanted });
    }
  }
  const found = new Set(configs.map(({ name }) => name));
  // Other files, such as lists of Events, only mention configs.
  const unusable = problems.filter(({ wanted }) => wanted === undefined || wanted.some((name) => !found.has(name)));
  const messages = unusable.slice(0, MAX_PROBLEMS).map(({ message }) => message);
  const more = unusable.length - messages.length;
  if (more > 0) messages.push(`${countNoun(more, 'more file')} cannot be used`);
  return { configs: configs.toSorted((a, b) => (a.name < b.name ? -1 : 1)), problems: messages };
}

/**
 * Adds a config, or its origins to an equal copy.
 * @throws FileError if there are many different copies: each costs a comparison and a hash
 */
export function addCopy(configs: RenderedConfig[], config: RenderedConfig): void {
  const index = configs.findIndex(({ name, spec }) => name === config.name && isDeepStrictEqual(spec, config.spec));
  const copy = configs[index];
  const count = configs.filter(({ name }) => name === config.name).length;
  if (copy === undefined && count === MAX_COPIES) {
    throw new FileError(
      `${formatOrigins(config)} is one of more than ${MAX_COPIES} different copies; choose a single file`,
    );
  }
  if (copy === undefined) configs.push(config);
  else configs[index] = { ...copy, origins: [...copy.origins, ...config.origins] };
}

/** The origins of a config, for messages: at most three. */
export function formatOrigins({ origins }: RenderedConfig): string {
  return joinFirst(origins.map(({ label }) => label));
}

export function toFileOrigin(path: string): Origin {
  return { type: 'file', label: formatPath(path) };
}

async function listTexts(directory: string, signal: AbortSignal): Promise<string[]> {
  const files = (await listDirectory(directory, MAX_ENTRIES, signal, true)).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => CONFIG_FILE.test(path));
}

/**
 * Reads the names of the source MachineConfigs from which the bootstrap host rendered its configs. There the operator
 * lists the sources of all pools for each pool (machine-config-operator, pkg/controller/render, RunBootstrap).
 * @returns undefined if the directory has no folder `machine-pools`
 * @throws FileError if a file is unreadable; the signal's reason
 */
export async function readBootstrapSources(
  directory: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const folder = join(directory, POOLS_FOLDER);
  if (!existsSync(folder)) return undefined;
  const sources = new Set<string>();
  for (const path of await listTexts(folder, signal)) {
    const content = await readRegularFile(path, MAX_CONFIG_BYTES, signal);
    const pools = listObjects(content.toString(), formatPath(path));
    for (const source of pools.flatMap(listPoolSources)) sources.add(source);
  }
  return sources;
}

/** The names in `spec.configuration.source` of a pool. */
export function listPoolSources(pool: unknown): string[] {
  const source = getValue(pool, 'spec', 'configuration', 'source');
  const names = Array.isArray(source) ? source.map((reference) => getValue(reference, 'name')) : [];
  return names.filter((name) => typeof name === 'string' && name !== '') as string[];
}

/**
 * Whether the config contains files, units or users. The one in `/etc/ignition-machine-config-encapsulated.json`
 * contains none, because the machine-config-server removes them (machine-config-operator, pkg/server/server.go).
 */
export function hasIgnitionContent({ spec }: RenderedConfig): boolean {
  const sections = ['storage', 'systemd', 'passwd'].map((name) => getValue(spec, 'config', name)).filter(isRecord);
  return sections.flatMap(Object.values).some((items) => Array.isArray(items) && items.length > 0);
}

function isMachineConfig(object: unknown): object is Readonly<Record<string, unknown>> {
  if (!isRecord(object)) return false;
  const { kind, apiVersion, spec } = object;
  if (kind !== undefined) return kind === 'MachineConfig' && API_VERSION.test(String(apiVersion));
  // Other kinds without kind have other fields.
  return apiVersion === undefined && hasRenderedName(object) && isRecord(spec);
}

function isRenderedObject(object: unknown): object is Readonly<Record<string, unknown>> {
  return isMachineConfig(object) && hasRenderedName(object);
}

function hasRenderedName(object: unknown): boolean {
  return isRenderedConfig(toConfigName(String(getValue(object, 'metadata', 'name'))));
}

function toConfig(object: Readonly<Record<string, unknown>>, origin: Origin): RenderedConfig {
  const { label: source } = origin;
  const { spec, apiVersion = DEFAULT_API_VERSION } = object;
  const name = getValue(object, 'metadata', 'name');
  if (typeof name !== 'string' || name === '') {
    throw new FileError(`${source} contains a MachineConfig without metadata.name`);
  }
  if (!isRecord(spec)) throw new FileError(`${source} contains a MachineConfig without spec`);
  const texts = toTexts(getValue(object, 'metadata', 'annotations'));
  return { name: toConfigName(name), apiVersion: String(apiVersion), spec, annotations: texts, origins: [origin] };
}

/** The objects of a JSON text or of all YAML documents, and the items of Lists instead of these. */
function listObjects(text: string, source: string): readonly unknown[] {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed === '') throw new FileError(`${source} is empty`);
  const isJson = trimmed.startsWith('{');
  const documents = isJson ? [parseJson(trimmed)] : readYaml(trimmed, source);
  if (isJson && documents[0] === undefined) throw new FileError(`${source} is not complete JSON; copy the file again`);
  checkValue(documents, source, 0);
  return documents.flatMap((document) => {
    const items = LIST_KIND.test(String(getValue(document, 'kind'))) ? getValue(document, 'items') : undefined;
    return Array.isArray(items) ? (items as unknown[]) : [document];
  });
}

function readYaml(text: string, source: string): unknown[] {
  const { documents } = parseStream(Buffer.from(text), source);
  const wrong = documents.find(({ value, hasMore }) => value === undefined || hasMore);
  if (wrong !== undefined) {
    const { line } = wrong.error ?? wrong;
    throw new FileError(`${source} is neither JSON nor YAML (line ${line}); copy the file again`);
  }
  // A separator can stand before the first document and after the last one.
  const objects = documents.map(({ value }) => value).filter((value) => value !== null);
  return objects.length === 0 ? [null] : objects;
}

function checkValue(value: unknown, source: string, depth: number): void {
  if (depth > MAX_DEPTH) throw new FileError(`${source} is nested deeper than any MachineConfig`);
  // JSON.parse() rounds larger integers.
  if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
    throw new FileError(`${source} contains a number beyond 2^53, which this command cannot copy exactly`);
  }
  if (typeof value !== 'object' || value === null) return;
  for (const item of Object.values(value)) checkValue(item, source, depth + 1);
}

function toTexts(value: unknown): Record<string, string> {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value below some keys. Undefined if there is none. */
export function getValue(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>((part, key) => {
    const isCollection = typeof part === 'object' && part !== null && Object.hasOwn(part, key);
    return isCollection ? (part as Readonly<Record<string, unknown>>)[key] : undefined;
  }, value);
}
