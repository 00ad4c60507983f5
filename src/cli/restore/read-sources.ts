import { stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { listAll } from '../../client/cluster-reader.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { readWithRetries } from '../../client/poll.ts';
import { joinFirst } from '../../common/printable-text.ts';
import { quote } from '../../diagnosis/quote.ts';
import { shell, verbatim } from '../../diagnosis/shell-command.ts';
import { waitOrAbort, withTimeout } from '../../common/wait.ts';
import type { ClusterSnapshot, InspectedNode } from '../../diagnosis/cluster-snapshot.ts';
import { FileError, formatPath } from '../../files/file-error.ts';
import { readRegularFile, readStream } from '../../files/read-file.ts';
import { objectPath } from '../../kube/api-paths.ts';
import { type KubeApi, readApiError } from '../../kube/api.ts';
import { ApiError, ApiUnreachable, describeError } from '../../kube/errors.ts';
import { findPoolOfNode } from '../../mco/pool-of-node.ts';
import {
  addCopy,
  MAX_CONFIG_BYTES,
  parseRenderedConfig,
  parseRenderedConfigs,
  toFileOrigin,
  readRenderedConfigs,
  type RenderedConfig,
} from '../../rendered-config/rendered-config.ts';
import { listMissingNames, listReferencedNames } from './restore-steps.ts';
import type { ConfigName } from '../../mco/machine-config.ts';

const STDIN = '-';
const STDIN_ORIGIN = { type: 'stdin', label: 'standard input' } as const;
const NODE_PREFIX = /^nodes?\//;

/** Whether a source is the disk of a node. */
export function isOnNode(source: string): boolean {
  return NODE_PREFIX.test(source);
}

export interface SourceOptions {
  readonly api: KubeApi;
  readonly snapshot: ClusterSnapshot;
  /** Undefined means every config that is needed. */
  readonly name: ConfigName | undefined;
  readonly isConfirmed: boolean;
  readonly signal: AbortSignal;
}

export interface SourceConfigs {
  readonly configs: readonly RenderedConfig[];
  /** Whether the source can have a copy of every missing config: a directory, or a file with several objects. */
  readonly isCollection: boolean;
  /** Why files of a directory were skipped that can contain a config. */
  readonly problems?: readonly string[];
}

/**
 * Reads all copies of the configs of `--from`. Of a collection, only the configs that a node or a pool names.
 * @throws FileError or CliError if it contains no fitting config, errors of `api`, or the signal's reason
 */
export async function readSources(from: readonly string[], options: SourceOptions): Promise<SourceConfigs> {
  const configs: RenderedConfig[] = [];
  const problems: string[] = [];
  let isCollection = false;
  for (const source of from) {
    const found = await readSource(source, options);
    for (const config of found.configs) addCopy(configs, config);
    problems.push(...(found.problems ?? []));
    isCollection ||= found.isCollection;
  }
  return { configs, isCollection, problems };
}

async function readSource(source: string, options: SourceOptions): Promise<SourceConfigs> {
  const { snapshot, name, signal } = options;
  const names = name === undefined ? listReferencedNames(snapshot) : [name];
  if (isOnNode(source)) {
    const configs = await readConfigsFromNode(source.replace(NODE_PREFIX, ''), options);
    return { configs, isCollection: false };
  }
  const stats = await stat(source).catch(() => undefined);
  if (stats === undefined && snapshot.nodes.some((node) => node.name === source)) {
    const advice = advise(`for the node of this name, use --from node/${source}`);
    throw new CliError(`${formatPath(source)} is no file`, EXIT_CODE.usage, { advice });
  }
  if (stats?.isDirectory() === true) {
    const { configs, problems } = await readRenderedConfigs(source, (config) => names.includes(config), signal);
    if (configs.length === 0) assertUnnamed(source, options, problems);
    return { configs, isCollection: true, problems };
  }
  if (/\.(?:tar|t?gz)$/.test(source))
    throw new FileError(`${formatPath(source)} is an archive; unpack it, and give its directory`);
  const isStdin = source === STDIN;
  const origin = isStdin ? STDIN_ORIGIN : toFileOrigin(source);
  const text = isStdin
    ? await readStream(process.stdin, origin.label, MAX_CONFIG_BYTES, signal)
    : await readRegularFile(source, MAX_CONFIG_BYTES, signal);
  const found = parseRenderedConfigs(text.toString(), origin);
  if (found.length === 1) return { configs: found, isCollection: false };
  const configs = found.filter((config) => names.includes(config.name));
  if (configs.length === 0) assertUnnamed(source, options, []);
  return { configs, isCollection: true };
}

/** @throws FileError or CliError if a config is wanted that the source lacks */
function assertUnnamed(source: string, { name, snapshot }: SourceOptions, problems: readonly string[]): void {
  if (name === undefined) return;
  assertReferenced(name, snapshot);
  const reasons = problems.length === 0 ? 'choose another source' : problems.join('; ');
  throw new FileError(`${formatPath(source)} does not contain ${name}; ${reasons}`);
}

const NAMESPACE_PATH = '/api/v1/namespaces/openshift-machine-config-operator';
const CONTAINER = 'machine-config-daemon';
const PODS = { kind: 'Pod', paths: [`${NAMESPACE_PATH}/pods`], isMetadataOnly: true } as const;
/** The machine-config-server writes it on every machine, and the daemon writes the other one at every update. */
const FIRST_BOOT_FILE = '/etc/mcs-machine-config-content.json';
const UPDATE_FILE = '/etc/machine-config-daemon/currentconfig';
/** The daemon's pod mounts the disk of the host here. */
const HOST_ROOT = '/rootfs';
const EXEC_TIMEOUT_MS = 30_000;

/**
 * Reads all copies of configs on the disk of a node with its machine-config-daemon pod, which also runs while it is
 * Degraded. In image mode, the machine-config-server changes osImageURL in the file that it writes.
 * @param name undefined means what the node needs, see {@link findWantedNames}
 * @throws CliError, ClusterAccessError, TimeoutError, or the signal's reason
 */
export async function readConfigsFromNode(
  nodeName: string,
  { api, snapshot, name, isConfirmed, signal }: SourceOptions,
): Promise<readonly RenderedConfig[]> {
  const node = snapshot.nodes.find((each) => each.name === nodeName);
  if (node === undefined) {
    const advice = advise('list the nodes', shell`oc get nodes`);
    throw fail(`node ${nodeName} does not exist, or the operator does not manage it`, advice);
  }
  let wanted = name === undefined ? findWantedNames(node, snapshot) : [name];
  // The daemon has updated a node of a pool that has completed a roll-out.
  const isUpdated = findPoolOfNode(node.labels, snapshot.pools).pool?.statusConfig !== undefined;
  const files = isUpdated ? [UPDATE_FILE, FIRST_BOOT_FILE] : [FIRST_BOOT_FILE, UPDATE_FILE];
  const pod = await findDaemonPod(api, nodeName, signal);
  const configs: RenderedConfig[] = [];
  const failures = pod === undefined ? ['it has no pod of the machine-config-daemon'] : [];
  let isRead = pod !== undefined;
  for (const file of pod === undefined ? [] : files) {
    const result = await readFile(api, String(pod), nodeName, file, signal);
    if (result instanceof Error) {
      // SSH reads the same file.
      isRead &&= result instanceof FileError || / No such file/.test(result.message);
      failures.push(quote(result.message));
      continue;
    }
    if (wanted.length === 0) wanted = [result.name];
    if (wanted.includes(result.name)) addCopy(configs, result);
    else failures.push(`${file} contains ${result.name}`);
  }
  if (configs.length > 0) return configs;
  if (name !== undefined) assertReferenced(name, snapshot);
  const subject = wanted.length === 0 ? 'the config' : wanted.join(' or ');
  const problem = `cannot read ${subject} from node ${nodeName}: ${failures.join('; ')}`;
  if (isRead)
    throw fail(problem, advise('the disk has no copy; see the other repairs', shell`machineconfig-guard check`));
  // Without a pod or a connection to the kubelet, `oc debug` fails, too.
  const [first = '', second = ''] = files;
  const confirm = isConfirmed ? shell`--confirm` : [];
  const restore = shell`machineconfig-guard restore ${wanted.slice(0, 1)} --from - ${confirm}`;
  const read = (file: string) => shell`ssh core@${nodeName} sudo cat ${verbatim(file)} | ${restore}`;
  throw new CliError(problem, EXIT_CODE.failure, {
    advice: [
      advise('read it with SSH', read(first)),
      advise('only if that file is missing or has another config, read the second one', read(second)),
    ],
  });
}

/** A source cannot have a config that nobody needs, such as one with a mistyped name. @throws CliError */
function assertReferenced(name: ConfigName, snapshot: ClusterSnapshot): void {
  if (listReferencedNames(snapshot).includes(name)) return;
  const missing = joinFirst(listMissingNames(snapshot));
  const others = missing === '' ? 'no config that they name is missing' : `the missing configs are ${missing}`;
  const advice = advise('see which node and which pool names a config', shell`machineconfig-guard who-uses`);
  throw new CliError(`no node and no pool names "${name}"; ${others}`, EXIT_CODE.usage, { advice });
}

/**
 * The missing configs that a node names, else the one for which `restore` has paused its pool, else all that it names.
 * Of a node whose disk differs from them: none, because only the disk knows its config.
 */
function findWantedNames(node: InspectedNode, snapshot: ClusterSnapshot): readonly ConfigName[] {
  const named = listReferencedNames({ nodes: [node], pools: [] });
  const missing = named.filter((config) => listMissingNames(snapshot).includes(config));
  if (missing.length > 0) return missing;
  const paused = named.filter((config) => snapshot.pools.some(({ pausedFor }) => pausedFor === config));
  if (paused.length > 0) return paused;
  if (node.daemonReason.type === 'diskDiffers') return [];
  if (named.length === 0) throw fail(`node ${node.name} names no config`);
  return named;
}

async function findDaemonPod(api: KubeApi, node: string, signal: AbortSignal): Promise<string | undefined> {
  const query = { labelSelector: `k8s-app=${CONTAINER}`, fieldSelector: `spec.nodeName=${node}` };
  const [pod] = await readWithRetries(
    (limited) => listAll(api, PODS, ({ metadata }) => String(metadata?.name), limited, query),
    signal,
  );
  return pod;
}

/** @returns the config, or why it cannot be read, with the name of the file. A FileError if its content is unusable */
async function readFile(
  api: KubeApi,
  pod: string,
  node: string,
  file: string,
  signal: AbortSignal,
): Promise<RenderedConfig | Error> {
  try {
    const text = await withTimeout(EXEC_TIMEOUT_MS, signal, (limited) =>
      execInPod(api, pod, ['cat', `${HOST_ROOT}${file}`], limited),
    );
    return parseRenderedConfig(text, { type: 'node', label: `node/${node}:${file}`, node });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof FileError) return error;
    // The message of the API server says whether a right is missing, or how the kubelet cannot be reached.
    return new Error(`${file}: ${error instanceof ApiError ? error.message : describeError(error)}`);
  }
}

function fail(problem: string, advice?: Advice): CliError {
  return new CliError(problem, EXIT_CODE.failure, { advice });
}

/** Every kubelet speaks it. A message starts with its channel (kubernetes, staging/src/k8s.io/kubelet). */
const PROTOCOL = 'v4.channel.k8s.io';
const CHANNEL = { stdout: 1, stderr: 2, status: 3 } as const;
/** What a message costs at least. A hostile kubelet can send single bytes. */
const MIN_MESSAGE_BYTES = 512;

/**
 * Runs a command in the container of the daemon, as `kubectl exec` does, and returns its standard output. The node can
 * be compromised, so its output is limited and an invalid message is an error.
 * @throws ApiError, ApiUnreachable, Error with its standard error, or the signal's reason
 */
export async function execInPod(
  api: KubeApi,
  pod: string,
  words: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { server } = api.connection;
  const { headers, ...tls } = await api.connection.credentials();
  const query = new URLSearchParams({ container: CONTAINER, stdout: 'true', stderr: 'true' });
  for (const word of words) query.append('command', word);
  const path = `${server.pathname.replace(/\/$/, '')}${objectPath(PODS.paths[0], pod)}/exec?${query.toString()}`;
  const { WebSocket } = await import('ws');
  const socket = new WebSocket(new URL(path, server.origin.replace('http', 'ws')), PROTOCOL, {
    ...tls,
    headers: { ...headers },
    perMessageDeflate: false,
  });
  const output = { [CHANNEL.stdout]: [] as Buffer[], [CHANNEL.stderr]: [] as Buffer[] };
  let bytes = 0;
  const received = new Promise<string>((resolve, reject) => {
    socket.on('unexpected-response', (_request, response: IncomingMessage) => {
      readApiError(response.statusCode ?? 0, response, signal).then(reject, reject);
    });
    // By default `ws` delivers every message as a Buffer.
    socket.on('message', (message: Buffer) => {
      const [channel, content] = [message[0], message.subarray(1)];
      bytes += Math.max(content.length, MIN_MESSAGE_BYTES);
      if (bytes > MAX_CONFIG_BYTES) reject(new Error(`it printed more than ${MAX_CONFIG_BYTES} bytes`));
      else if (channel === CHANNEL.stdout || channel === CHANNEL.stderr) output[channel].push(content);
      else if (channel === CHANNEL.status) {
        const failure = findFailure(content, Buffer.concat(output[CHANNEL.stderr]));
        if (failure === undefined) resolve(Buffer.concat(output[CHANNEL.stdout]).toString());
        else reject(new Error(failure));
      }
    });
    socket.on('error', (error) => {
      reject(new ApiUnreachable(`${server.host} cannot be reached: ${describeError(error)}`));
    });
    // Without effect after a status.
    socket.on('close', () => reject(new ApiUnreachable('the connection closed before the command ended')));
  });
  try {
    return await waitOrAbort(received, signal);
  } finally {
    socket.terminate();
  }
}

function findFailure(content: Buffer, stderr: Buffer): string | undefined {
  const errorText = stderr.toString().trim();
  try {
    const { status, message } = JSON.parse(content.toString()) as { readonly status?: unknown; message?: unknown };
    return status === 'Success' ? undefined : errorText || String(message);
  } catch {
    return errorText || 'the kubelet sent no valid status';
  }
}
