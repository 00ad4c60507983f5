import { stat } from 'node:fs/promises';
import type { ConfigName } from '../../decision/config-name.ts';
import { FileError, formatPath } from '../../files/file-error.ts';
import { isArchive } from '../../files/read-archive.ts';
import { readRegularFile, readStream } from '../../files/read-file.ts';
import { readReferencedNames } from '../../client/cluster-reader.ts';
import { readWithRetries } from '../../client/poll.ts';
import type { KubeApi } from '../../kube/api.ts';
import {
  addCopy,
  MAX_CONFIG_BYTES,
  parseRenderedConfig,
  readRenderedConfigs,
  type RenderedConfig,
} from '../../rendered-config/rendered-config.ts';
import { readConfigsFromNode } from './node-source.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';

export interface Source {
  /** All copies of all configs. Of a directory, only the configs that a node or a pool names. */
  readonly configs: readonly RenderedConfig[];
  /** Files of a directory that look like a config and are unusable, each with the reason. */
  readonly problems: readonly string[];
}

const STDIN = '-';
const NODE_PREFIX = /^nodes?\//;
const NODE_NAME = /^(?!.*\.(?:json|ya?ml|tar|tgz|gz)$)[a-z0-9][-.a-z0-9]*$/;

/**
 * Reads the configs of `--from`.
 *
 * @throws CliError if it contains no fitting config, errors of `api`, or the signal's reason
 */
export async function readSources(
  api: KubeApi,
  from: readonly string[],
  name: ConfigName | undefined,
  signal: AbortSignal,
): Promise<Source> {
  const configs: RenderedConfig[] = [];
  const problems: string[] = [];
  for (const source of from) {
    try {
      const found = await readSource(api, source, name, signal);
      for (const config of found.configs) addCopy(configs, config);
      problems.push(...found.problems);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FileError) {
        const hint = couldBeNode(source, error) ? `; to read the disk of a node, use --from node/${source}` : '';
        throw new CliError(`${error.message}${hint}`, EXIT_CODE.usage, { cause: error });
      }
      throw error;
    }
  }
  return { configs, problems };
}

async function readSource(
  api: KubeApi,
  source: string,
  name: ConfigName | undefined,
  signal: AbortSignal,
): Promise<Source> {
  if (NODE_PREFIX.test(source)) {
    const configs = await readConfigsFromNode(api, source.replace(NODE_PREFIX, ''), name, signal);
    return { configs, problems: [] };
  }
  if (isArchive(source) || (await isDirectory(source))) {
    const found = await readRenderedConfigs(source, await selectConfigs(api, name, signal), signal);
    if (found.configs.length > 0 || name === undefined) return found;
    const reasons = found.problems.length === 0 ? 'choose another source' : found.problems.join('; ');
    throw new FileError(`${formatPath(source)} does not contain ${name}; ${reasons}`);
  }
  const isStdin = source === STDIN;
  const text = isStdin
    ? await readStream(process.stdin, 'standard input', MAX_CONFIG_BYTES, signal)
    : await readRegularFile(source, MAX_CONFIG_BYTES, signal);
  const label = isStdin ? 'standard input' : formatPath(source);
  return { configs: [parseRenderedConfig(text.toString(), label)], problems: [] };
}

/** Of a directory, the configs that nothing names are not of interest. */
async function selectConfigs(api: KubeApi, name: ConfigName | undefined, signal: AbortSignal) {
  if (name !== undefined) return (config: ConfigName) => config === name;
  const names = await readWithRetries((limited) => readReferencedNames(api, limited), signal);
  return (config: ConfigName) => names.has(config);
}

function couldBeNode(source: string, { cause }: FileError): boolean {
  return (cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' && NODE_NAME.test(source);
}

async function isDirectory(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.isDirectory() === true;
}
