import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { NODES_PATH } from '../../../src/kube/api-paths.ts';
import { createConfigOnDisk, toConfigOnDisk } from '../../support/config-on-disk.ts';
import {
  annotate,
  createConfig,
  createNode,
  createPool,
  GONE,
  NEW,
  startEmptyCluster,
  startHealthyCluster,
} from '../inspected-cluster.ts';
import { usageError } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';
import { MACHINE_CONFIGS_PATH, POOLS_PATH } from '../../../src/mco/api-paths.ts';

const OTHER_GONE = GONE.replace('-c', '-d');

function writeConfig(): string {
  const file = path.join(createTemporaryDirectory(), 'config.json');
  const spec = { config: { ignition: { version: '3.4.0' } } };
  writeFileSync(file, JSON.stringify({ metadata: { name: GONE }, spec }));
  return file;
}

/** Files with one content, the same in every run. */
function listFiles(count: number, content: string) {
  const files = Array.from({ length: count }, (_, index) => {
    return { path: `/etc/file-${String(index).padStart(2, '0')}`, contents: { source: `data:,${content}` } };
  });
  return { config: { ignition: { version: '3.4.0' }, storage: { files } } };
}

test('says what it would do, has done and has not done, and what comes next', async () => {
  const { cluster, transcribe } = await startEmptyCluster();
  const rendered = createConfigOnDisk('master', listFiles(25, 'old')).name;
  const missing = createConfigOnDisk('master', listFiles(2, 'new'));
  const directory = createTemporaryDirectory();
  const [good, bad] = ['good.json', 'bad.json'].map((file) => path.join(directory, file)) as [string, string];
  writeFileSync(good, missing.text);
  writeFileSync(bad, toConfigOnDisk('master', { ...missing.spec, fips: true }, missing.name).text);
  const restore = (title: string, ...args: string[]) => transcribe(title, 'restore', ...args);

  await restore('nothing names the config', '--from', good);
  cluster.create('machineconfigs', { metadata: { name: rendered }, spec: listFiles(25, 'old') });
  createPool(cluster, 'master', { spec: rendered });
  cluster.patch('machineconfigpools', 'master', { status: { machineCount: 2, updatedMachineCount: 0 } });
  const stuck = { currentConfig: missing.name, desiredConfig: missing.name, state: 'Degraded', reason: 'a reason' };
  for (const name of ['control0', 'control1']) createNode(cluster, name, stuck, 'master');
  await restore('a copy with another content', '--from', bad);
  await restore('the same, accepted', '--from', bad, '--accept-content');
  let mayCreate = false;
  cluster.faults.intercept(({ method }) => (method === 'POST' && !mayCreate ? { status: 403 } : 'pass'));
  await restore('without a right', '--from', good, '--confirm');
  mayCreate = true;
  cluster.patch('machineconfigs', rendered, { spec: { ...missing.spec, kernelType: 'realtime' } });
  const confirmed = ['--from', good, '--confirm', '--timeout', '1s', '--control-plane-replicas'];
  await restore('a machine is missing', ...confirmed, '3');
  await restore('nodes stay Degraded', ...confirmed, '2');
  await restore('the same again', ...confirmed, '2');
  await restore('the same again, without --confirm', '--from', good);
  await cluster.delete('machineconfigs', missing.name);
  const removeInterruption = cluster.faults.intercept(({ path: requested }) => {
    if (requested === NODES_PATH && cluster.get('machineconfigs', missing.name)) process.emit('SIGINT');
    return 'pass';
  });
  await restore('Ctrl-C while it waits for the nodes', ...confirmed, '2');
  removeInterruption();
  await cluster.delete('machineconfigs', missing.name);
  cluster.patch('machineconfigs', rendered, { spec: missing.spec });
  for (const name of ['control0', 'control1']) annotate(cluster, name, { state: 'Done', reason: '' });
  await restore('the whole work', ...confirmed, '2');
  await restore('again', ...confirmed, '2');
  await cluster.delete('machineconfigs', missing.name);
  const reason = 'unexpected on-disk state validating against x: content mismatch for file "/etc/id"';
  const names = { currentConfig: rendered, desiredConfig: rendered };
  annotate(cluster, 'control0', { ...names, state: 'Degraded', reason });
  annotate(cluster, 'control1', names);
  await restore('the config of a disk that no annotation names', ...confirmed, '2');
  await restore('a directory without a config that is named', '--from', path.dirname(writeConfig()));
  cluster.faults.intercept(() => {
    process.emit('SIGINT');
    return 'hang';
  });
  const all = await restore('Ctrl-C at the first request', ...confirmed, '2');
  await expect(all).toMatchFileSnapshot('restore.txt');
});

test('completes the beginning of the name of a missing config', async () => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const { stdout } = await run('restore', 'worker-', '--from', writeConfig());
  // Only one that begins so is missing. The content of the file cannot be restored, but its name fits.
  expect(stdout).toMatch(new RegExp(`^${GONE} \\(from .*\\)\\n  Not restored \\(NoIgnitionContent\\)`, 'm'));
  expect((await run('restore', NEW, '--from', writeConfig())).stdout).toContain('(NameDiffers)');
});

test('continues a restore that has created its config, by its name alone or the beginning of it', async () => {
  const { run, cluster, address } = await startHealthyCluster();
  const missing = await run('restore', GONE);
  expect([missing.exitCode, missing.stderr]).toEqual([
    2,
    expect.stringMatching(
      /'--from <source>' not specified; see which node has a copy: machineconfig-guard check --kube/,
    ),
  ]);
  expect((await run('restore', NEW)).stdout).toBe(
    `Cluster: ${address}\n${NEW} (from the API)\n  exists. Nothing to do.\n\nNothing to restore.\n`,
  );
  expect((await run('restore', NEW, '--from', 'node/worker-0')).stdout).toContain('exists. Nothing to do.');
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  createConfig(cluster, GONE);
  const metadata = { annotations: { 'machineconfig-guard.io/paused-for-restore': GONE } };
  cluster.patch('machineconfigpools', 'worker', { metadata, spec: { paused: true } });
  const planned = await run('restore', 'worker-');
  expect(planned.stdout.replaceAll(/\s+/g, ' ')).toContain(`${GONE} (from the API) Named by node worker-0`);
  expect(await run('restore', GONE, '--confirm')).toMatchObject({ exitCode: 0 });
  expect(cluster.get('machineconfigpools', 'worker')?.spec).toMatchObject({ paused: false });
});

test('names the cluster in the advice, and the prefix of a node', async () => {
  const { run, kubeconfig } = await startHealthyCluster();
  const unprefixed = 'worker-0 is no file; for the node of this name, use --from node/worker-0\n';
  expect(await run('restore', '--from', 'worker-0')).toEqual(usageError(unprefixed));
  const { stderr } = await run('restore', '--from', 'node/oc-1', '--context', 'in-memory');
  const advice = `list the nodes: oc --kubeconfig ${kubeconfig} --context in-memory get nodes`;
  expect(stderr).toBe(`machineconfig-guard: node oc-1 does not exist, or the operator does not manage it; ${advice}\n`);
});

test('restores from a directory in spite of an unusable file, which it names, and not from it alone', async () => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const source = path.dirname(writeConfig());
  writeFileSync(path.join(source, 'rendered-b.json'), `{"name":"${GONE}`);
  const unusable = await run('restore', '--from', path.join(source, 'rendered-b.json'));
  expect(unusable).toEqual(usageError('rendered-b.json is not complete JSON; copy the file again\n'));
  const archive = await run('restore', '--from', 'must-gather.tar.gz');
  expect(archive).toEqual(usageError('must-gather.tar.gz is an archive; unpack it, and give its directory\n'));
  const other = await run('restore', OTHER_GONE, '--from', source);
  const unnamed = `no node and no pool names "${OTHER_GONE}"; the missing configs are ${GONE}; `;
  expect([other.exitCode, other.stderr]).toEqual([2, expect.stringContaining(unnamed)]);
  annotate(cluster, 'worker-0', { desiredConfig: OTHER_GONE });
  const lacking = await run('restore', OTHER_GONE, '--from', source);
  expect([lacking.exitCode, lacking.stderr]).toEqual([2, expect.stringContaining(`does not contain ${OTHER_GONE}; `)]);
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const unpacked = `${source}/gathered.tar`;
  mkdirSync(unpacked);
  renameSync(path.join(source, 'config.json'), path.join(unpacked, 'config.json'));
  expect((await run('restore', '--from', unpacked)).stdout).toContain(`${GONE} (from `);
  const { stdout, stderr } = await run('restore', '--from', source);
  expect(stderr).toMatch(/skipped: .*rendered-b\.json is not complete JSON; copy the file again\n$/);
  expect(stdout).toMatch(new RegExp(`^${GONE} \\(from .*config\\.json\\)\\n`, 'm'));
});

test.each([
  ['YAML documents', (configs: readonly string[]) => configs.map((config) => `---\n${config}\n`).join('')],
  ['a List', (configs: readonly string[]) => `{"kind":"List","items":[${configs.join(',')}]}`],
])('restores the missing config from %s, given directly, on stdin or in a directory', async (_, join) => {
  const { run, cluster, start } = await startHealthyCluster();
  const [missing, other] = [createConfigOnDisk('worker'), createConfigOnDisk('worker', listFiles(1, 'other'))];
  annotate(cluster, 'worker-0', { desiredConfig: missing.name });
  const file = path.join(createTemporaryDirectory(), 'all.yaml');
  const pipe = new RegExp(`^${missing.name} \\(from`, 'm');
  writeFileSync(file, join([missing.bootstrapText, other.text]));
  for (const source of [file, path.dirname(file)]) {
    expect(await run('restore', '--from', source)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(pipe) as string,
    });
  }
  const { child, outcome } = start('restore', '--from', '-');
  child.stdin?.end(join([missing.text, other.text]));
  expect(await outcome).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(pipe) as string });
  writeFileSync(file, join([other.text, other.text]));
  const lacking = await run('restore', missing.name, '--from', file);
  expect([lacking.exitCode, lacking.stderr]).toEqual([2, expect.stringContaining(`not contain ${missing.name}; `)]);
});

test('exits with 1 if a missing config has no copy in the directory', async () => {
  const { run, cluster } = await startHealthyCluster();
  const other = createConfigOnDisk('worker');
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const directory = createTemporaryDirectory();
  annotate(cluster, 'worker-0', { currentConfig: other.name });
  writeFileSync(path.join(directory, 'other.yaml'), other.text);
  const part = await run('restore', '--from', directory, '--confirm', '--timeout', '1s');
  expect([part.exitCode, cluster.get('machineconfigs', other.name)]).toEqual([1, expect.anything()]);
  expect(part.stdout).toMatch(new RegExp(`^${GONE} \\(from [^]*\\(NoCopy\\)[^]*Not every config was restored`, 'm'));
  annotate(cluster, 'worker-0', { desiredConfig: other.name });
  expect(await run('restore', '--from', directory)).toMatchObject({ exitCode: 0 });
});

test.each([
  ['--from', '', 'Must be a file, a directory, - or node/NAME.'],
  ['--from', 'node/', 'Must be a file, a directory, - or node/NAME.'],
  ['--from', 'nodes/ ', 'Must be a file, a directory, - or node/NAME.'],
  ['--control-plane-replicas', '0', 'Must be a whole number of at least 1.'],
])('with %s=%j, exits with 2', async (flag, value, sentence) => {
  const { run } = await startEmptyCluster();
  expect(await run('restore', `${flag}=${value}`)).toEqual(usageError(sentence));
});

test.each<[string, string, 'hang' | 'pass', () => string]>([
  ['a silent standard input', MACHINE_CONFIGS_PATH, 'pass', () => '-'],
  ['a read of the state', POOLS_PATH, 'hang', writeConfig],
])('SIGTERM ends the command during %s', async (_during, lastRead, answer, createSource) => {
  const { start, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const isLast = ({ path: requested }: { readonly path: string }) => requested === lastRead;
  cluster.faults.intercept((request) => (isLast(request) ? answer : 'pass'));
  const name = answer === 'pass' ? ['worker-c'] : [];
  const { child, outcome } = start('restore', ...name, '--confirm', '--from', createSource());
  await expect.poll(() => cluster.faults.requests.some(isLast)).toBe(true);
  child.kill('SIGTERM');
  const stderr = 'machineconfig-guard: interrupted; nothing was written\n';
  expect(await outcome).toEqual({ exitCode: 130, stdout: '', stderr });
});
