import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { startEmptyCluster } from '../inspected-cluster.ts';
import { usageError, type Outcome, runProgram } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

const IMAGE = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
let set: string;
let out: string;

beforeEach(() => {
  set = createTemporaryDirectory();
  out = path.join(set, 'rotation');
});

async function rotate(...args: string[]): Promise<Outcome> {
  return await runProgram(['certs', 'rotate', '--out', out, ...args]);
}

test.each([
  ['--from', '/nowhere', 2],
  ['--from', '/dev/null', 2],
  ['--kubeconfig', '/nowhere', 3],
])('with %s %s, exits with %i and writes nothing', async (flag, value, exitCode) => {
  expect(await rotate(flag, value)).toEqual({ ...usageError(), exitCode });
  expect(existsSync(out)).toBe(false);
});

test('writes three files for a rendered set, and replaces them only with --force', async () => {
  await runProgram(['render', '--out', set, '--image', IMAGE]);
  // Not a file of the set.
  writeFileSync(path.join(set, '00-other-secret.yaml'), 'kind: Secret');
  const first = await rotate('--from', set, '--output', 'json', '--days', '30');
  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  const summary = {
    fingerprint256: expect.stringMatching(/^[0-9A-F:]{95}$/),
    notAfter: expect.any(String),
  };
  expect(JSON.parse(first.stdout)).toEqual({
    files: ['1-trust-both.yaml', '2-issue-from-new.yaml', '3-trust-new.yaml'].map((name) =>
      path.join(out, name),
    ),
    old: summary,
    new: summary,
    leftOver: 0,
    waitSeconds: 30,
  });
  expect((await rotate('--from', set)).exitCode).toBe(2);
  const forced = await rotate('--from', set, '--force');
  expect(forced.stdout).toMatch(
    /oc apply -f \S+1-trust-both\.yaml\n {2}sleep 30\n {2}oc apply -f \S+2-issue/,
  );
});

test('if another issuer makes the certificates, exits with 1', async () => {
  await runProgram(['render', '--out', set, '--image', IMAGE, '--tls', 'service-ca']);
  expect((await rotate('--from', set)).exitCode).toBe(1);
});

test('if the cluster has no guard, exits with 1, and if it is unreachable, with 3', async () => {
  const { cluster, kubeconfig, address } = await startEmptyCluster();
  const missing = await rotate('--kubeconfig', kubeconfig);
  const message = `${address} has no webhook configuration machineconfig-guard: `;
  expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(message) as string });
  await cluster.faults.goDown();
  const { exitCode, stderr } = await rotate('--kubeconfig', kubeconfig);
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(
    /^machineconfig-guard: cannot connect to the API server at \S+: connection refused; /,
  );
});
