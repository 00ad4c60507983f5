import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { advise, CommandFormatter } from '../../../src/client/output/advice.ts';
import { formatRestoreReport } from '../../../src/cli/restore/restore.ts';
import type { ConfigReport } from '../../../src/cli/restore/restore-run.ts';
import { annotate, GONE, NEW, startHealthyCluster } from '../inspected-cluster.ts';
import { usageError } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

const OTHER_GONE = GONE.replace('-c', '-d');

function writeConfig(): string {
  const file = path.join(createTemporaryDirectory(), 'config.json');
  const spec = { config: { ignition: { version: '3.4.0' } } };
  writeFileSync(file, JSON.stringify({ metadata: { name: GONE }, spec }));
  return file;
}

test('completes the beginning of the name of a missing config', async () => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const { stdout } = await run('restore', 'worker-c', '--from', writeConfig());
  // The content of the file cannot be restored, but its name fits.
  expect(stdout).toMatch(new RegExp(`^${GONE} \\(from .*\\)\\n  Not restored \\(NoIgnitionContent\\)`));
  expect((await run('restore', NEW, '--from', writeConfig())).stdout).toContain('(NameDiffers)');
});

test('exits with 2 if several missing configs begin with the name', async () => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { currentConfig: OTHER_GONE, desiredConfig: GONE });
  expect(await run('restore', 'worker-', '--from', writeConfig())).toEqual(
    usageError(`"worker-" begins several names: ${GONE} and ${OTHER_GONE}; add more characters\n`),
  );
});

test('names the cluster in the advice', async () => {
  const { run, kubeconfig } = await startHealthyCluster();
  const { stderr } = await run('restore', '--from', 'node/oc-1', '--context', 'in-memory');
  const advice = `list the nodes: oc --kubeconfig ${kubeconfig} --context in-memory get nodes`;
  expect(stderr).toBe(`machineconfig-guard: node oc-1 does not exist; ${advice}\n`);
  const { stdout } = await run('restore', '--from', writeConfig());
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`machineconfig-guard check --kubeconfig ${kubeconfig} `);
});

function writeUnusable(): string {
  const directory = createTemporaryDirectory();
  execFileSync('mkfifo', [path.join(directory, 'fifo.json')]);
  symlinkSync('/dev/zero', path.join(directory, 'zero.json'));
  for (const name of ['\u001B]0;rendered-a.json', 'rendered-b\u009B31m.json']) {
    writeFileSync(path.join(directory, name), `{"name":"${GONE}`);
  }
  return directory;
}

test.each([
  ['a named pipe', 'fifo.json', 'it is not a regular file'],
  ['a link to a device', 'zero.json', 'it is not a regular file'],
  ['a file with a hostile name', '\u001B]0;rendered-a.json', 'is not complete JSON; copy the file again'],
  ['a directory without a usable copy', '', `does not contain ${GONE}; `],
])('exits with 2 for %s, and prints no control character', async (_, name, message) => {
  const { run } = await startHealthyCluster();
  const { exitCode, stderr } = await run('restore', GONE, '--from', path.join(writeUnusable(), name));
  expect(exitCode).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr.trimEnd()).not.toMatch(/\p{Cc}/u);
});

test('restores from a directory in spite of an unusable file, which it names', async () => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const source = path.dirname(writeConfig());
  writeFileSync(path.join(source, 'rendered-b.json'), `{"name":"${GONE}`);
  const { stdout, stderr } = await run('restore', '--from', source);
  expect(stderr).toMatch(/skipped: .*rendered-b\.json is not complete JSON; copy the file again\n$/);
  expect(stdout).toMatch(new RegExp(`^${GONE} \\(from .*config\\.json\\)\\n`));
});

const MCO = '/apis/machineconfiguration.openshift.io/v1';

test.each<[NodeJS.Signals, string, string, 'hang' | 'pass', () => string]>([
  ['SIGINT', 'a silent standard input', `${MCO}/machineconfigs`, 'pass', () => '-'],
  ['SIGTERM', 'a silent standard input', `${MCO}/machineconfigs`, 'pass', () => '-'],
  ['SIGINT', 'a read of the state', `${MCO}/machineconfigpools`, 'hang', writeConfig],
  ['SIGINT', 'a read of the node', '/api/v1/nodes', 'hang', () => 'node/worker-0'],
])('%s ends the command during %s', async (signal, _during, lastRead, answer, createSource) => {
  const { start, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const isLast = ({ path: requested }: { readonly path: string }) => requested === lastRead;
  cluster.faults.intercept((request) => (isLast(request) ? answer : 'pass'));
  const name = answer === 'pass' ? ['worker-c'] : [];
  const { child, outcome } = start('restore', ...name, '--confirm', '--from', createSource());
  await expect.poll(() => cluster.faults.requests.some(isLast)).toBe(true);
  child.kill(signal);
  const stderr = 'machineconfig-guard: interrupted; nothing was written\n';
  expect(await outcome).toEqual({ exitCode: 130, stdout: '', stderr });
});

const ESCAPE = '\u001B[2J';
const rejection = { code: 'NameDiffers', reason: 'a', advice: advise('b') } as const;

test.each<[string, object]>([
  ['name', { name: `rendered-${ESCAPE}` }],
  ['source', { source: `dir/${ESCAPE}.json` }],
  [
    'warning',
    { warnings: [`paused for ${ESCAPE}`], steps: [{ action: 'CreateConfig', description: 'a', done: false }] },
  ],
  ['step', { steps: [{ action: 'CreateConfig', description: ESCAPE, done: false }] }],
  ['reason', { rejection: { ...rejection, reason: `it contains ${ESCAPE}` } }],
  ['advice', { rejection: { ...rejection, advice: advise(`read ${ESCAPE}`, ['oc', 'get', ESCAPE]) } }],
])('prints no escape sequence that the %s of a config contains', (_field, fields) => {
  const config = {
    name: GONE,
    source: 'a',
    outcome: 'rejected',
    namedBy: null,
    rejection,
    warnings: [],
    steps: [],
    ...fields,
  };
  const report = {
    ok: false,
    problem: null,
    advice: [],
    pausedPools: [],
    configs: [config as unknown as ConfigReport],
  };
  const cluster = { server: '', confirmed: true, pendingCertificateRequests: [] };
  const commands = new CommandFormatter('machineconfig-guard', {});
  const text = formatRestoreReport({ width: 100, hasColors: false, commands }, { ...report, ...cluster });
  expect(text).toContain('[2J');
  expect(text).not.toContain('\u001B');
});
