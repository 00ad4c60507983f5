import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { MCO_GROUP } from '../../src/kube/api-paths.ts';
import type { Fault } from '../support/faults.ts';
import { type InspectedCluster, startEmptyCluster } from './inspected-cluster.ts';
import { type Outcome, runProgram } from './run-program.ts';
import { createTemporaryDirectory } from './temporary-directory.ts';

/** Writes to the clipboard of a terminal, clears the screen, starts a line and reverses the text. */
const HOSTILE = '\u001B]52;c;aGk=\u0007\u009B2J\rHOSTILE\u202E\u2028';
/** Everything that a terminal could interpret, but line feeds and tabs. */
const UNSAFE = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/u;
const GONE = `rendered-worker${HOSTILE}-c4983d88dabdc54ecf977ee120fd3796`;
const UNUSED = `rendered-${HOSTILE}-a4983d88dabdc54ecf977ee120fd3796`;
const PAUSED_FOR = 'machineconfig-guard.io/paused-for-restore';

let inspected: InspectedCluster;

beforeEach(async () => {
  inspected = await startEmptyCluster();
  const { cluster } = inspected;
  const annotations = Object.fromEntries(
    ['currentConfig', 'desiredConfig', 'state', 'reason'].map((key) => [`${MCO_GROUP}/${key}`, GONE]),
  );
  const metadata = { name: `node${HOSTILE}`, annotations, labels: { [HOSTILE]: HOSTILE } };
  cluster.create('nodes', { metadata });
  const configuration = { name: GONE, source: [{ name: HOSTILE }] };
  cluster.create('machineconfigpools', {
    metadata: { name: `pool${HOSTILE}`, annotations: { [PAUSED_FOR]: GONE } },
    spec: { paused: true, configuration, nodeSelector: { matchLabels: { [HOSTILE]: HOSTILE } } },
    status: { configuration, conditions: [{ type: HOSTILE, status: HOSTILE, message: HOSTILE }] },
  });
  cluster.create('machineconfigs', {
    metadata: { name: UNUSED, creationTimestamp: HOSTILE, annotations: { [HOSTILE]: HOSTILE } },
    spec: { kernelType: HOSTILE },
  });
  cluster.create('machineconfigguards', {
    metadata: { name: 'cluster' },
    spec: { mode: HOSTILE, holdSuperseded: HOSTILE },
    status: { version: HOSTILE, conditions: [{ type: HOSTILE, reason: HOSTILE, message: HOSTILE }] },
  });
  cluster.create('certificatesigningrequests', {
    metadata: { name: 'csr-a' },
    spec: { signerName: 'kubernetes.io/kubelet-serving', username: `system:node:${HOSTILE}` },
  });
  cluster.faults.intercept(({ path: requested }) =>
    requested === '/version' ? { status: 200, body: { gitVersion: HOSTILE } } : 'pass',
  );
});

function expectSafe({ stdout, stderr }: Outcome): void {
  expect(UNSAFE.exec(stdout + stderr)).toBeNull();
  expect(stdout + stderr).toContain('HOSTILE');
}

test.each([
  ...['table', 'wide', 'name', 'json', 'yaml'].map((format) => ['check', '-o', format]),
  ...['table', 'wide', 'name', 'json', 'yaml'].map((format) => ['who-uses', '-o', format]),
  ...['table', 'json', 'yaml'].map((format) => ['who-uses', '--unused', '-o', format]),
  ...['table', 'json', 'yaml'].map((format) => ['who-uses', GONE, UNUSED, '-o', format]),
  ...['text', 'json', 'yaml'].map((format) => ['version', '-o', format]),
  [HOSTILE],
  ['check', '--context', HOSTILE],
  ['check', '--role', HOSTILE],
])('command %# prints no control character', async (...args) => {
  expectSafe(await inspected.run(...args));
});

test.each(['text', 'json', 'yaml'])('certs -o %s prints no control character of a path', async (format) => {
  const out = path.join(createTemporaryDirectory(), HOSTILE);
  expectSafe(await runProgram(['certs', '--out', out, '-o', format]));
});

test.each(['explain', 'help'])('%s prints no control character of its argument', async (command) => {
  expectSafe(await runProgram([command, HOSTILE]));
});

test('gather prints no control character of a path', async () => {
  const out = path.join(createTemporaryDirectory(), HOSTILE);
  expectSafe(await inspected.run('gather', '--out', out));
});

test.each<Fault>([
  { status: 401, body: { message: HOSTILE } },
  { status: 403, body: { message: HOSTILE, reason: HOSTILE } },
  { status: 500, body: { message: HOSTILE, reason: HOSTILE } },
])('the error for answer %# has no control character', async (fault) => {
  const removeFault = inspected.cluster.faults.intercept(() => fault);
  const outcomes = [];
  for (const command of ['check', 'who-uses', 'version']) outcomes.push(await inspected.run(command));
  removeFault();
  for (const { stdout, stderr } of outcomes) expect(UNSAFE.exec(stdout + stderr)).toBeNull();
});
