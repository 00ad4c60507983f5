import { onTestFinished, test, expect } from 'vitest';

import { KubeApi } from '../../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../../src/kube/connection.ts';
import { execInPod } from '../../../src/cli/restore/exec.ts';
import { type ExecResult, ExecServer } from '../../support/exec-server.ts';

const COMMAND = { namespace: 'mco', pod: 'daemon-1', container: 'daemon', command: ['cat', '/a b&c'] };
const MEBIBYTE = 1024 * 1024;

/** An API server with this result of every command, and a client. */
async function start(result: ExecResult, address?: string) {
  const server = await ExecServer.start(() => result);
  onTestFinished(() => {
    server.stop();
  });
  const api = new KubeApi(
    connectionFromKubeconfig(
      JSON.stringify({
        'current-context': 'a',
        contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
        clusters: [
          {
            name: 'a',
            cluster: {
              server: address ?? `https://127.0.0.1:${server.port}/prefix/`,
              'certificate-authority-data': Buffer.from(server.ca).toString('base64'),
            },
          },
        ],
        users: [{ name: 'a', user: { token: 'abc' } }],
      }),
    ),
  );
  const run = (signal = new AbortController().signal) => execInPod(api, COMMAND, signal);
  return { server, run };
}

test('returns the whole standard output, and not the standard error', async () => {
  const stdout = `${'ä'.repeat(MEBIBYTE)}\n`;
  const { server, run } = await start({ stdout, stderr: 'warning' });
  expect(await run()).toBe(stdout);
  expect(server.calls).toEqual([
    {
      path: '/prefix/api/v1/namespaces/mco/pods/daemon-1/exec',
      command: ['cat', '/a b&c'],
      protocol: 'v4.channel.k8s.io',
      authorization: 'Bearer abc',
    },
  ]);
});

test.each([
  ['the command fails', { stderr: 'cat: No such file\n', exitCode: 1 }, 'CommandFailed', 'cat: No such file'],
  ['the command fails silently', { exitCode: 127 }, 'CommandFailed', /non-zero exit code: exit status 127/],
  ['the connection ends before the status', { stdout: 'a', end: 'close' }, 'ApiUnreachable', /before the command/],
  ['the status is broken', { end: 'garbage' }, 'CommandFailed', /no valid status/],
  ['the output is too long', { stdout: 'a'.repeat(9 * MEBIBYTE) }, 'CommandFailed', /more than 8388608 bytes/],
] as const)('rejects if %s', async (_condition, result, name, message) => {
  const { run } = await start(result);
  await expect(run()).rejects.toMatchObject({ name, message: expect.stringMatching(message) as string });
});

test('rejects with the message of the API server', async () => {
  const { server, run } = await start({});
  server.reject(403, 'pods "daemon-1" is forbidden');
  await expect(run()).rejects.toMatchObject({
    name: 'ApiError',
    status: 403,
    message: 'pods "daemon-1" is forbidden',
  });
});

test('rejects if the API server is unreachable', async () => {
  const { run } = await start({}, 'https://127.0.0.1:1');
  await expect(run()).rejects.toMatchObject({
    name: 'ApiUnreachable',
    message: expect.stringMatching(/ECONNREFUSED/) as string,
  });
});

test('rejects after the timeout if the kubelet hangs', async () => {
  const { run } = await start({ end: 'hang' });
  await expect(run(AbortSignal.timeout(200))).rejects.toMatchObject({ name: 'TimeoutError' });
});
