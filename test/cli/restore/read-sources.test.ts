import { expect, onTestFinished, test } from 'vitest';
import { execInPod, readConfigsFromNode } from '../../../src/cli/restore/read-sources.ts';
import type { CliError } from '../../../src/client/exit.ts';
import { InMemoryCluster } from '../../support/in-memory-cluster/in-memory-cluster.ts';
import { type ApiRequest, KubeApi } from '../../../src/kube/api.ts';
import { formatOrigins } from '../../../src/rendered-config/rendered-config.ts';
import { ApiUnreachable } from '../../../src/kube/errors.ts';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';
import { inspectedNode, inspectedPool, names } from '../../diagnosis/checked-cluster.ts';
import { InProcessApi } from '../../support/in-process-api.ts';
import { type ExecResult, startExecServer } from '../../support/exec-server.ts';
import { buildKubeconfig, connectionFromKubeconfig } from '../../support/kubeconfig.ts';
import type { ConfigName } from '../../../src/mco/machine-config.ts';
import { skipWaits } from '../steps/stopping-api.ts';

const MEBIBYTE = 1024 * 1024;

/** An API server with this result of every command, and a client. */
async function start(result: ExecResult, address?: string) {
  const server = await startExecServer(() => result);
  onTestFinished(async () => {
    // An open connection would keep the process.
    await expect.poll(server.countOpen).toBe(0);
    server.stop();
  });
  const url = address ?? `https://127.0.0.1:${server.port}/prefix/`;
  const api = new KubeApi(connectionFromKubeconfig(buildKubeconfig(url, { token: 'abc' }, server)));
  const run = (signal = new AbortController().signal) => execInPod(api, 'daemon-1', ['cat', '/a b&c'], signal);
  return { server, run };
}

test('returns the whole standard output, and not the standard error', async () => {
  const stdout = `${'ä'.repeat(MEBIBYTE)}\n`;
  const { server, run } = await start({ stdout, stderr: 'warning' });
  expect(await run()).toBe(stdout);
  expect(server.calls).toEqual([
    {
      path: '/prefix/api/v1/namespaces/openshift-machine-config-operator/pods/daemon-1/exec',
      command: ['cat', '/a b&c'],
      protocol: 'v4.channel.k8s.io',
      authorization: 'Bearer abc',
    },
  ]);
});

test.each([
  ['the command fails', { stderr: 'cat: No such file\n', exitCode: 1 }, Error, 'cat: No such file'],
  ['the command fails silently', { exitCode: 127 }, Error, /non-zero exit code: exit status 127/],
  ['the connection ends before the status', { stdout: 'a', end: 'close' }, ApiUnreachable, /before the command/],
  ['the status is broken', { end: 'garbage' }, Error, /no valid status/],
  ['the messages are tiny', { stdout: 'a'.repeat(16_382 * 64), messageBytes: 64 }, Error, /more than 8388608 bytes/],
  ['the output is too long', { stdout: 'a'.repeat(9 * MEBIBYTE) }, Error, /more than 8388608 bytes/],
] as const)('rejects if %s', async (_condition, result, type, message) => {
  const running = (await start(result)).run();
  await expect(running).rejects.toThrow(message);
  await expect(running).rejects.toBeInstanceOf(type);
});

test('counts each small message as 512 bytes, of at most 8 MiB', async () => {
  // The status and the two empty messages at the start count, too.
  const stdout = 'a'.repeat(16_381 * 64);
  expect(await (await start({ stdout, messageBytes: 64 })).run()).toBe(stdout);
});

test('rejects if the API server is unreachable', async () => {
  const running = (await start({}, 'https://127.0.0.1:1')).run();
  await expect(running).rejects.toThrow(/ECONNREFUSED/);
  await expect(running).rejects.toBeInstanceOf(ApiUnreachable);
});

test('rejects after the timeout if the kubelet hangs', async () => {
  const { run } = await start({ end: 'hang' });
  await expect(run(AbortSignal.timeout(200))).rejects.toMatchObject({ name: 'TimeoutError' });
});

const [MISSING, OTHER] = [createConfigOnDisk('worker'), createConfigOnDisk('worker')];
const NAMED = { current: MISSING.name, desired: MISSING.name };
const EXISTING = { current: OTHER.name, desired: OTHER.name };
const ON_DISK = { ...EXISTING, state: 'Degraded', reason: 'unexpected on-disk state validating against x' };
const FIRST_BOOT = '/etc/mcs-machine-config-content.json';
const UPDATE = '/etc/machine-config-daemon/currentconfig';

interface NodeCase {
  readonly node?: Parameters<typeof inspectedNode>[1];
  readonly name?: string;
  readonly status?: string;
  readonly pausedFor?: string;
  readonly hasPod?: boolean;
  /** The texts of the two files. Others do not exist. */
  readonly files?: Readonly<Record<string, string>>;
  readonly end?: ExecResult['end'];
}

/** Returns the names and sources of the copies, or the problem and the file that SSH can read instead. */
async function readFromNode({ node = NAMED, name, status, pausedFor, hasPod = true, files = {}, end }: NodeCase) {
  const server = await startExecServer(([, file = '']) => {
    if (end !== undefined) return { end };
    const stdout = files[file.replace(/^\/rootfs/, '')];
    return stdout === undefined ? { stderr: `cat: ${file}: No such file`, exitCode: 1 } : { stdout };
  });
  onTestFinished(() => server.stop());
  class NodeApi extends InProcessApi {
    readonly connection = connectionFromKubeconfig(buildKubeconfig(`https://127.0.0.1:${server.port}`, {}, server));

    override async json(request: ApiRequest): Promise<unknown> {
      this.requests.push(request);
      const type = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' };
      const items = hasPod ? [{ ...type, metadata: { name: 'daemon-1' } }] : [];
      return Promise.resolve({ ...type, kind: `${type.kind}List`, metadata: { resourceVersion: '1' }, items });
    }
  }
  const api = new NodeApi(new InMemoryCluster());
  const pool = { ...inspectedPool('worker', { spec: OTHER.name, status }), ...(pausedFor && { pausedFor }) };
  const snapshot = {
    nodes: [inspectedNode('worker0', node)],
    pools: [pool],
    configs: names([OTHER.name, ...(pausedFor === undefined ? [] : [MISSING.name])]),
    terminatingConfigs: names([]),
    controlPlaneReplicas: undefined,
    skippedNodes: [],
  };
  const reading = readConfigsFromNode('worker0', {
    api: api as unknown as KubeApi,
    snapshot,
    name: name as ConfigName | undefined,
    isConfirmed: false,
    signal: new AbortController().signal,
  });
  const result = await reading.then(
    (configs) => configs.map((config) => [config.name, formatOrigins(config)]),
    (error: unknown) => [(error as CliError).message, (error as CliError).advice[0]?.command?.words.at(4)],
  );
  return { result, api, server };
}

const CONTENTS = { [FIRST_BOOT]: MISSING.text, [UPDATE]: OTHER.text };
const FROM_FIRST_BOOT = [[MISSING.name, `node/worker0:${FIRST_BOOT}`]];
const FROM_UPDATE = [[OTHER.name, `node/worker0:${UPDATE}`]];
const cannotRead = (subject: string, failures: string) => `cannot read ${subject} from node worker0: ${failures}`;

test('gives up on each file after 30 s if the kubelet hangs', async () => {
  skipWaits();
  const { result } = await readFromNode({ end: 'hang' });
  expect(result[0]).toBe(cannotRead(MISSING.name, `${FIRST_BOOT}: timed out; ${UPDATE}: timed out`));
  expect(performance.now()).toBe(60_000);
});

test.each<[string, NodeCase, readonly unknown[]]>([
  ['its missing config', { node: { ...NAMED, desired: OTHER.name }, files: CONTENTS }, FROM_FIRST_BOOT],
  ['the config of the command line', { files: CONTENTS, name: OTHER.name }, FROM_UPDATE],
  [
    'the config that restore has created',
    { node: { ...NAMED, desired: OTHER.name }, pausedFor: MISSING.name, files: CONTENTS },
    FROM_FIRST_BOOT,
  ],
  ['its config, if no config is missing', { node: EXISTING, files: CONTENTS }, FROM_UPDATE],
  [
    'the config of the first file, if its disk differs from the config that it names',
    { node: ON_DISK, files: CONTENTS },
    FROM_FIRST_BOOT,
  ],
  [
    'that of the last update, if its pool has completed one',
    { node: ON_DISK, status: OTHER.name, files: CONTENTS },
    FROM_UPDATE,
  ],
  [
    'two different copies',
    {
      node: ON_DISK,
      files: {
        [FIRST_BOOT]: MISSING.text,
        [UPDATE]: JSON.stringify({ metadata: { name: MISSING.name }, spec: OTHER.spec }),
      },
    },
    [...FROM_FIRST_BOOT, [MISSING.name, `node/worker0:${UPDATE}`]],
  ],
  [
    'equal copies once',
    { files: { [FIRST_BOOT]: MISSING.text, [UPDATE]: MISSING.text } },
    [[MISSING.name, `node/worker0:${FIRST_BOOT} and node/worker0:${UPDATE}`]],
  ],
  [
    'nothing from other files',
    { files: { [UPDATE]: OTHER.text } },
    [
      cannotRead(
        MISSING.name,
        `${FIRST_BOOT}: cat: /rootfs${FIRST_BOOT}: No such file; ${UPDATE} contains ${OTHER.name}`,
      ),
      undefined,
    ],
  ],
  [
    'nothing from files that a power cut has truncated, which SSH would read, too',
    { files: { [FIRST_BOOT]: MISSING.text.slice(0, 99), [UPDATE]: '' } },
    [expect.stringMatching(/content\.json is not complete JSON; .*currentconfig is empty$/), undefined],
  ],
  [
    'nothing from a disk with another config',
    { files: { [FIRST_BOOT]: OTHER.text, [UPDATE]: OTHER.text } },
    [
      cannotRead(MISSING.name, [FIRST_BOOT, UPDATE].map((file) => `${file} contains ${OTHER.name}`).join('; ')),
      undefined,
    ],
  ],
  [
    'nothing without its pod',
    { node: ON_DISK, hasPod: false, status: OTHER.name },
    [cannotRead('the config', 'it has no pod of the machine-config-daemon'), UPDATE],
  ],
  [
    'nothing by a name that nothing has, although its pod is missing',
    { name: 'foo', hasPod: false },
    [`no node and no pool names "foo"; the missing configs are ${MISSING.name}`, undefined],
  ],
  [
    'nothing by a name that nothing has, if no config is missing',
    { name: 'foo', node: EXISTING, files: CONTENTS },
    ['no node and no pool names "foo"; no config that they name is missing', undefined],
  ],
  [
    'nothing, if it names none',
    { node: { state: 'Done' }, files: CONTENTS },
    ['node worker0 names no config', undefined],
  ],
])('reads from a node %s', async (_what, given, expected) => {
  expect((await readFromNode(given)).result).toEqual(expected);
});

test('asks for the pod of the daemon on the node, and reads both files of its host', async () => {
  const { api, server } = await readFromNode({ node: ON_DISK, files: CONTENTS });
  const query = 'labelSelector=k8s-app%3Dmachine-config-daemon&fieldSelector=spec.nodeName%3Dworker0';
  expect(api.requests.map(({ path }) => path)).toEqual([expect.stringContaining(query)]);
  const commands = [FIRST_BOOT, UPDATE].map((file) => ['cat', `/rootfs${file}`]);
  expect(server.calls).toMatchObject(commands.map((command) => ({ command })));
});
