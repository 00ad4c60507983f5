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
  const config = {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: { name: GONE },
    spec: { config: { ignition: { version: '3.4.0' } } },
  };
  writeFileSync(file, JSON.stringify(config));
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

test('names the cluster in the advice about a node that cannot be read', async () => {
  const { run, kubeconfig } = await startHealthyCluster();
  const { stderr } = await run('restore', '--from', 'node/oc-1', '--context', 'in-memory');
  expect(stderr).toBe(
    'machineconfig-guard: node oc-1 does not exist; list the nodes: ' +
      `oc --kubeconfig ${kubeconfig} --context in-memory get nodes\n`,
  );
});

test('names the cluster in the advice about a rejected config', async () => {
  const { run, kubeconfig } = await startHealthyCluster();
  const { stdout } = await run('restore', '--from', writeConfig());
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `Next: see which configs are missing: machineconfig-guard check --kubeconfig ${kubeconfig} `,
  );
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

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends the command while standard input is silent', async (signal) => {
  const { start, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const { child, outcome } = start('restore', 'worker-c', '--from', '-');
  const { requests } = cluster.faults;
  // The last request before the command reads its source.
  const isList = ({ path: requested }: { readonly path: string }) => requested.endsWith('/machineconfigs');
  await expect.poll(() => requests.some(isList)).toBe(true);
  child.kill(signal);
  expect(await outcome).toMatchObject({
    exitCode: 130,
    stderr: 'machineconfig-guard: interrupted; nothing was written\n',
  });
});

test.each(['/apis/machineconfiguration.openshift.io/v1/machineconfigpools', '/api/v1/nodes'])(
  'Ctrl-C ends the command while %s is not answered',
  async (hanging) => {
    const { start, cluster } = await startHealthyCluster();
    cluster.faults.intercept(({ path: requested }) => (requested === hanging ? 'hang' : 'pass'));
    const source = hanging.endsWith('nodes') ? 'node/worker-0' : writeConfig();
    const { child, outcome } = start('restore', '--confirm', '--from', source);
    const { requests } = cluster.faults;
    await expect.poll(() => requests.some((request) => request.path === hanging)).toBe(true);
    child.kill('SIGINT');
    expect(await outcome).toEqual({
      exitCode: 130,
      stdout: '',
      stderr: 'machineconfig-guard: interrupted; nothing was written\n',
    });
  },
);

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
