import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Document, parseAllDocuments, visit } from 'yaml';
import { type ConfigName, isRenderedConfig, toConfigName } from '../decision/config-name.ts';
import { formatName } from '../decision/message.ts';
import { resolvePlainScalar } from './plain-scalar.ts';

/** A rendered config as it is on a disk or in the API. Its spec can contain secrets. */
export interface RenderedConfig {
  readonly name: ConfigName;
  readonly apiVersion: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Where it was read, for messages. */
  readonly source: string;
}

/** The text is not a rendered config. The message starts with its source and never contains its content. */
export class ConfigFileError extends Error {
  override readonly name = 'ConfigFileError';
}

/** An object of the API has at most 3 MiB (etcd's request limit). Its YAML is larger. */
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_DEPTH = 100;
const KIND = /^[A-Z][A-Za-z]{0,62}$/;
const CONFIG_FILE = /\.(?:json|ya?ml)$/;
/** Folders of `/etc/mcs/bootstrap` (machine-config-operator, pkg/controller/bootstrap/bootstrap.go). */
const CONFIGS_FOLDER = 'machine-configs';
const POOLS_FOLDER = 'machine-pools';
const API_VERSION = /^machineconfiguration\.openshift\.io\/v\d\w*$/;

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; run the command as root',
  EISDIR: 'it is a directory',
  ENOENT: 'it does not exist',
  ENOTDIR: 'it is not a directory',
};

/**
 * Parses the JSON or YAML of one MachineConfig. Ownership, uid and status of the file do not count.
 *
 * @param source where the text was read, for messages
 * @throws ConfigFileError
 */
export function parseRenderedConfig(text: string, source: string): RenderedConfig {
  const config = parseConfig(text, source);
  if (isRenderedConfig(config.name)) return config;
  const name = formatName(config.name);
  throw new ConfigFileError(`${source} contains MachineConfig "${name}", which is not a rendered config`);
}

/**
 * Reads every rendered config of a directory, sorted by name: from its folder `machine-configs` if it has one. Skips
 * files with another ending, other objects and other MachineConfigs.
 *
 * @throws ConfigFileError if a file or the directory is unreadable
 */
export async function readRenderedConfigs(directory: string): Promise<readonly RenderedConfig[]> {
  const folder = path.join(directory, CONFIGS_FOLDER);
  const configs = new Map<ConfigName, RenderedConfig>();
  for (const { file, object } of await readObjects((await isDirectory(folder)) ? folder : directory)) {
    if (!isMachineConfig(object)) continue;
    const config = toConfig(object, file);
    if (!isRenderedConfig(config.name)) continue;
    const other = configs.get(config.name);
    if (other !== undefined) {
      throw new ConfigFileError(`${other.source} and ${file} both contain ${config.name}; remove one of them`);
    }
    configs.set(config.name, config);
  }
  return [...configs.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Reads the names of the source MachineConfigs from which the bootstrap host rendered its configs. There the operator
 * lists the sources of all pools for each pool (machine-config-operator, pkg/controller/render, RunBootstrap).
 *
 * @returns undefined if the directory has no folder `machine-pools`
 * @throws ConfigFileError if a file is unreadable
 */
export async function readBootstrapSources(directory: string): Promise<ReadonlySet<string> | undefined> {
  const folder = path.join(directory, POOLS_FOLDER);
  if (!(await isDirectory(folder))) return undefined;
  const pools = await readObjects(folder);
  return new Set(pools.flatMap(({ object }) => listPoolSources(object)));
}

/** The names in `spec.configuration.source` of a pool. */
export function listPoolSources(pool: unknown): string[] {
  const { spec } = isRecord(pool) ? pool : {};
  const { configuration } = isRecord(spec) ? spec : {};
  const { source } = isRecord(configuration) ? configuration : {};
  const names = Array.isArray(source)
    ? source.map((reference) => (isRecord(reference) ? reference['name'] : ''))
    : [];
  return names.filter((name) => typeof name === 'string' && name !== '') as string[];
}

async function readObjects(directory: string): Promise<{ file: string; object: unknown }[]> {
  const entries = await explainErrors(directory, () => readdir(directory, { withFileTypes: true }));
  const files = entries.filter((entry) => !entry.isDirectory() && CONFIG_FILE.test(entry.name));
  return await Promise.all(
    files.map(async ({ name }) => {
      const file = path.join(directory, name);
      return { file, object: parseObject(await readConfigFile(file), file) };
    }),
  );
}

async function isDirectory(directory: string): Promise<boolean> {
  return await stat(directory).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/**
 * Reads a file that can contain one MachineConfig.
 *
 * @throws ConfigFileError if it is unreadable or too large
 */
export async function readConfigFile(file: string): Promise<string> {
  return await explainErrors(file, async () => {
    const { size } = await stat(file);
    if (size > MAX_BYTES) throw new ConfigFileError(`${file} is larger than any MachineConfig (${size} bytes)`);
    return await readFile(file, 'utf8');
  });
}

/**
 * Whether the config contains files, units or users. The one in `/etc/ignition-machine-config-encapsulated.json`
 * contains none, because the machine-config-server removes them (machine-config-operator, pkg/server/server.go).
 */
export function hasIgnitionContent({ spec }: RenderedConfig): boolean {
  const { storage, systemd, passwd } = isRecord(spec['config']) ? spec['config'] : {};
  return [storage, systemd, passwd].some(
    (section) =>
      isRecord(section) && Object.values(section).some((items) => Array.isArray(items) && items.length > 0),
  );
}

function parseConfig(text: string, source: string): RenderedConfig {
  const object = parseObject(text, source);
  if (isMachineConfig(object)) return toConfig(object, source);
  const kind = isRecord(object) ? String(object['kind']) : '';
  const found = KIND.test(kind) ? `an object of kind ${kind}` : 'no object of Kubernetes';
  throw new ConfigFileError(`${source} contains ${found}, not one MachineConfig; choose another file`);
}

function isMachineConfig(object: unknown): object is Readonly<Record<string, unknown>> {
  return (
    isRecord(object) && object['kind'] === 'MachineConfig' && API_VERSION.test(String(object['apiVersion']))
  );
}

function toConfig(object: Readonly<Record<string, unknown>>, source: string): RenderedConfig {
  const { metadata, spec, apiVersion } = object;
  const { name, annotations } = isRecord(metadata) ? metadata : {};
  if (typeof name !== 'string' || name === '') {
    throw new ConfigFileError(`${source} contains a MachineConfig without metadata.name`);
  }
  if (!isRecord(spec)) throw new ConfigFileError(`${source} contains a MachineConfig without spec`);
  return {
    name: toConfigName(name),
    apiVersion: String(apiVersion),
    spec,
    annotations: toTexts(annotations),
    source,
  };
}

function parseObject(text: string, source: string): unknown {
  if (Buffer.byteLength(text) > MAX_BYTES) {
    throw new ConfigFileError(`${source} is larger than any MachineConfig (more than ${MAX_BYTES} bytes)`);
  }
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed === '') throw new ConfigFileError(`${source} is empty`);
  const object = trimmed.startsWith('{') ? parseJson(trimmed, source) : parseYaml(trimmed, source);
  checkValue(object, source, 0);
  return object;
}

/** The message of the parser can contain a part of the text. */
function parseJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ConfigFileError(`${source} is not complete JSON; copy the file again`);
  }
}

function parseYaml(text: string, source: string): unknown {
  let documents: readonly Document[];
  let object: unknown;
  try {
    // The failsafe schema reads all scalars as strings. A warning would print a part of the text.
    documents = [...parseAllDocuments(text, { schema: 'failsafe', logLevel: 'error' })];
    const [document] = documents;
    if (document?.errors.length === 0) {
      visit(document, {
        Scalar: (_key, node) => {
          if (node.type === 'PLAIN') node.value = resolvePlainScalar(String(node.value));
        },
      });
      object = document.toJS();
    }
  } catch {
    // Such as too many aliases, or too deep nesting.
    throw new ConfigFileError(`${source} is not YAML that this command can read`);
  }
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined) {
    const location = error.linePos === undefined ? '' : ` (line ${error.linePos[0].line})`;
    throw new ConfigFileError(`${source} is neither JSON nor YAML${location}; copy the file again`);
  }
  if (documents.length > 1) {
    throw new ConfigFileError(
      `${source} contains ${documents.length} YAML documents; put each in a file of its own`,
    );
  }
  return object;
}

function checkValue(value: unknown, source: string, depth: number): void {
  if (depth > MAX_DEPTH) throw new ConfigFileError(`${source} is nested deeper than any MachineConfig`);
  // JSON.parse() rounds larger integers.
  if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
    throw new ConfigFileError(
      `${source} contains a number beyond 2^53, which this command cannot copy exactly`,
    );
  }
  if (typeof value !== 'object' || value === null) return;
  for (const item of Object.values(value)) checkValue(item, source, depth + 1);
}

async function explainErrors<T>(source: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ConfigFileError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new ConfigFileError(`cannot read ${source}: ${REASONS[code] ?? code}`, { cause: error });
  }
}

function toTexts(value: unknown): Record<string, string> {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
