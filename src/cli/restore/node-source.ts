import type { ConfigName } from '../../decision/config-name.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { listAll, readConfigs } from '../../client/cluster-reader.ts';
import { readWithRetries } from '../../client/poll.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { type Advice, advise, PIPE } from '../../client/output/advice.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ApiError, describeError } from '../../kube/errors.ts';
import { execInPod } from './exec.ts';
import { withTimeout } from '../../common/wait.ts';
import { NODES } from '../../references/sources.ts';
import { addCopy, parseRenderedConfig, type RenderedConfig } from '../../rendered-config/rendered-config.ts';

const NAMESPACE = 'openshift-machine-config-operator';
const CONTAINER = 'machine-config-daemon';
const PODS = { kind: 'Pod', paths: [`/api/v1/namespaces/${NAMESPACE}/pods`], isMetadataOnly: true } as const;
/** The machine-config-server writes the first one on every machine. The daemon writes the second one at an update. */
const FILES = ['/etc/mcs-machine-config-content.json', '/etc/machine-config-daemon/currentconfig'] as const;
/** The daemon's pod mounts the disk of the host here. */
const HOST_ROOT = '/rootfs';
const EXEC_TIMEOUT_MS = 30_000;
const MAX_REASON_LENGTH = 300;

/**
 * Reads all copies of configs on the disk of a node with its machine-config-daemon pod, which also runs while it is
 * Degraded. In image mode, the machine-config-server changes osImageURL in the file that it writes.
 *
 * @param name undefined means the configs that the node names, and of these the missing ones if there are any
 * @throws CliError, ClusterAccessError, TimeoutError, or the signal's reason
 */
export async function readConfigsFromNode(
  api: KubeApi,
  node: string,
  name: ConfigName | undefined,
  signal: AbortSignal,
): Promise<readonly RenderedConfig[]> {
  const wanted = await findWantedNames(api, node, name, signal);
  const pod = await findDaemonPod(api, node, signal);
  const configs: RenderedConfig[] = [];
  const failures: string[] = [];
  for (const file of FILES) {
    const result = await readFile(api, pod, node, file, signal);
    if (typeof result === 'string') failures.push(`${file}: ${result}`);
    else if (wanted.has(result.name)) addCopy(configs, result);
    else failures.push(`${file} contains ${result.name}`);
  }
  if (configs.length > 0) return configs;
  throw explainFailure(node, `cannot read ${[...wanted].join(' or ')} from node ${node}: ${failures.join('; ')}`);
}

async function findWantedNames(
  api: KubeApi,
  node: string,
  name: ConfigName | undefined,
  signal: AbortSignal,
): Promise<ReadonlySet<ConfigName>> {
  const query = { fieldSelector: `metadata.name=${node}` };
  const [referrer] = await readWithRetries((limited) => listAll(api, NODES, NODES.parse, limited, query), signal);
  if (referrer === undefined) {
    throw fail(`node ${node} does not exist`, advise('list the nodes', ['oc', 'get', 'nodes']));
  }
  if (name !== undefined) return new Set([name]);
  const { references } = referrer;
  const named = new Set(references.filter(({ strength }) => strength === 'strong').map(({ config }) => config));
  if (named.size === 0) throw fail(`node ${node} names no config`);
  const configs = await readWithRetries((limited) => readConfigs(api, limited), signal);
  const existing = new Set(configs.map((config) => config.name));
  const missing = new Set([...named].filter((config) => !existing.has(config)));
  return missing.size > 0 ? missing : named;
}

async function findDaemonPod(api: KubeApi, node: string, signal: AbortSignal): Promise<string> {
  const query = { labelSelector: `k8s-app=${CONTAINER}`, fieldSelector: `spec.nodeName=${node}` };
  const [pod] = await readWithRetries(
    (limited) => listAll(api, PODS, ({ metadata }) => String(metadata?.name), limited, query),
    signal,
  );
  if (pod === undefined) throw explainFailure(node, `node ${node} has no pod of the machine-config-daemon`);
  return pod;
}

/** @returns the config, or why it cannot be read */
async function readFile(
  api: KubeApi,
  pod: string,
  node: string,
  file: string,
  signal: AbortSignal,
): Promise<RenderedConfig | string> {
  try {
    const command = ['cat', `${HOST_ROOT}${file}`];
    const text = await withTimeout(EXEC_TIMEOUT_MS, signal, (limited) =>
      execInPod(api, { namespace: NAMESPACE, pod, container: CONTAINER, command }, limited),
    );
    return parseRenderedConfig(text, `node/${node}:${file}`);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // The message of the API server says whether a right is missing, or how the kubelet cannot be reached.
    const reason = error instanceof ApiError ? error.message : describeError(error);
    return toPrintableLine(reason, MAX_REASON_LENGTH);
  }
}

function explainFailure(node: string, problem: string): CliError {
  const debug = ['oc', 'debug', `node/${node}`, '--', 'chroot', '/host', 'cat', FILES[0]];
  const restore = ['machineconfig-guard', 'restore', '--from', '-'];
  return fail(problem, advise('read it in another way', [...debug, PIPE, ...restore]));
}

function fail(problem: string, advice?: Advice): CliError {
  return new CliError(problem, EXIT_CODE.failure, { advice });
}
