import { stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ConfigName } from '../../decision/config-name.ts';
import type { KubeApi } from '../../kube/api.ts';
import {
  ConfigFileError,
  parseRenderedConfig,
  readConfigFile,
  readRenderedConfigs,
  type RenderedConfig,
} from '../../rendered-config/rendered-config.ts';
import { NodeSourceError, readConfigsFromNode } from '../../restore/node-source.ts';
import type { ClusterFlags } from '../cluster-options.ts';
import { addFlagsToAdvice } from '../command-flags.ts';
import { CliError, EXIT_CODE } from '../exit.ts';

export interface Source {
  readonly configs: readonly RenderedConfig[];
  /** Whether it can contain configs that nothing names. */
  readonly isDirectory: boolean;
}

interface SourceFlags extends ClusterFlags {
  readonly from: string;
}

const STDIN = '-';
const NODE_PREFIX = /^nodes?\//;
const NODE_NAME = /^(?!.*\.(?:json|ya?ml)$)[a-z0-9][-.a-z0-9]*$/;

/**
 * Reads the configs of `--from`.
 *
 * @throws CliError if it contains no fitting config, errors of `api`, or the signal's reason
 */
export async function readSource(
  api: KubeApi,
  { from, ...flags }: SourceFlags,
  name: ConfigName | undefined,
  signal: AbortSignal,
): Promise<Source> {
  try {
    const isDirectory = !NODE_PREFIX.test(from) && from !== STDIN && (await isDirectoryPath(from));
    const configs = isDirectory ? await readDirectory(from, name) : await readConfigs(api, from, name, signal);
    return { configs, isDirectory: isDirectory && name === undefined };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConfigFileError) {
      const advice = couldBeNode(from, error) ? `; to read the disk of a node, use --from node/${from}` : '';
      throw new CliError(`${error.message}${advice}`, EXIT_CODE.usage, { cause: error });
    }
    if (error instanceof NodeSourceError)
      throw new CliError(addFlagsToAdvice(error.message, flags), EXIT_CODE.failure, { cause: error });
    throw error;
  }
}

async function readConfigs(api: KubeApi, from: string, name: ConfigName | undefined, signal: AbortSignal) {
  if (NODE_PREFIX.test(from))
    return await readConfigsFromNode(api, from.replace(NODE_PREFIX, ''), name, signal);
  if (from === STDIN)
    return [parseRenderedConfig(await text(addAbortSignal(signal, process.stdin)), 'standard input')];
  return [parseRenderedConfig(await readConfigFile(from), from)];
}

async function readDirectory(directory: string, name: ConfigName | undefined) {
  const configs = await readRenderedConfigs(directory);
  const wanted = configs.filter((config) => name === undefined || config.name === name);
  if (wanted.length > 0) return wanted;
  throw new ConfigFileError(
    `${directory} does not contain ${name ?? 'a rendered config'}; choose another directory`,
  );
}

function couldBeNode(from: string, { cause }: ConfigFileError): boolean {
  return (cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' && NODE_NAME.test(from);
}

async function isDirectoryPath(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.isDirectory() === true;
}
