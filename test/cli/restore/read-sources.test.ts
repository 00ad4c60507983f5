import { expect, onTestFinished, test } from 'vitest';
import { execInPod } from '../../../src/cli/restore/read-sources.ts';
import { KubeApi } from '../../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../../src/client/kube-connection.ts';
import { type ExecResult, ExecServer } from '../../support/exec-server.ts';
import { kubeconfig } from '../../e2e/control-plane/control-plane.ts';

const MEBIBYTE = 1024 * 1024;

/** An API server with this result of every command, and a client. */
async function start(result: ExecResult, address?: string) {
  const server = await ExecServer.start(() => result);
  onTestFinished(() => server.stop());
  const url = address ?? `https://127.0.0.1:${server.port}/prefix/`;
  const api = new KubeApi(connectionFromKubeconfig(kubeconfig(url, server.ca, { token: 'abc' })));
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
  ['the command fails', { stderr: 'cat: No such file\n', exitCode: 1 }, 'Error', 'cat: No such file'],
  ['the command fails silently', { exitCode: 127 }, 'Error', /non-zero exit code: exit status 127/],
  ['the connection ends before the status', { stdout: 'a', end: 'close' }, 'ApiUnreachable', /before the command/],
  ['the status is broken', { end: 'garbage' }, 'Error', /no valid status/],
  ['the messages are tiny', { stdout: 'a'.repeat(17_000), messageBytes: 1 }, 'Error', /more than 8388608 bytes/],
  ['the output is too long', { stdout: 'a'.repeat(9 * MEBIBYTE) }, 'Error', /more than 8388608 bytes/],
] as const)('rejects if %s', async (_condition, result, name, message) => {
  const { run } = await start(result);
  await expect(run()).rejects.toMatchObject({ name, message: expect.stringMatching(message) as string });
});

test('rejects if the API server is unreachable', async () => {
  const { run } = await start({}, 'https://127.0.0.1:1');
  const message = expect.stringMatching(/ECONNREFUSED/) as string;
  await expect(run()).rejects.toMatchObject({ name: 'ApiUnreachable', message });
});

test('rejects after the timeout if the kubelet hangs', async () => {
  const { run } = await start({ end: 'hang' });
  await expect(run(AbortSignal.timeout(200))).rejects.toMatchObject({ name: 'TimeoutError' });
});
