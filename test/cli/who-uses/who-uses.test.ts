import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { GUARD_PATH, MACHINE_CONFIGS_PATH, NODES_PATH } from '../../../src/kube/api-paths.ts';
import {
  annotate,
  createConfig,
  createNode,
  GONE,
  holdUnusedConfigs,
  NEW,
  OLD,
  startEmptyCluster,
  startHealthyCluster,
  TIME,
} from '../inspected-cluster.ts';
import { type Outcome, usageError } from '../run-program.ts';

const OTHER_POOL = 'rendered-infra-a4983d88dabdc54ecf977ee120fd3796';
const TYPO = NEW.replace('rendered', 'render');

test('for a config in use, prints the referrers and exits with 0', async () => {
  const { run } = await startHealthyCluster();
  const stdout = [
    `${NEW} is in use by 1 node and 1 pool.`,
    'KIND               NAME      FIELD                         KEEPS CONFIG',
    'Node               worker-0  currentConfig, desiredConfig  yes',
    'MachineConfigPool  worker    spec, status                  yes\n',
  ].join('\n');
  // `oc get machineconfig -o name` prints such a name.
  const name = `machineconfig.machineconfiguration.openshift.io/${NEW}`;
  expect(await run('who-uses', name, `mc/${NEW}`)).toEqual({ exitCode: 0, stdout, stderr: '' });
});

test.each([
  [
    'a missing config',
    TYPO,
    NEW,
    1,
    `does not exist. No object uses this exact name. Closest existing name: ${NEW}. 1 node has not reported`,
  ],
  ['a missing config that a node names', TYPO, TYPO, 0, 'It is still named by 1 node.'],
  ['a source config', '99-worker-ssh', NEW, 1, 'It is not a rendered config, so the guard does not'],
  ['an unused config', OLD, NEW, 1, `${OLD} is not in use. Informational references of 1 node do not keep it. KIND`],
])('explains the result for %s', async (_name, config, desiredConfig, exitCode, text) => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig, lastAppliedDrain: `uncordon-${OLD}` });
  createConfig(cluster, '99-worker-ssh');
  createNode(cluster, 'new', {});
  const outcome = await run('who-uses', config);
  expect(outcome).toMatchObject({ exitCode, stderr: '' });
  expect(outcome.stdout.replaceAll(/\s+/g, ' ')).toContain(text);
});

test('prints exactly the documented JSON keys, and only strong referrers as names', async () => {
  const { run, cluster, address } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
  cluster.patch('machineconfigpools', 'worker', { spec: { configuration: { name: GONE } } });
  const { exitCode, stdout, stderr } = await run('who-uses', NEW, OLD, TYPO, '--output', 'json');
  expect([exitCode, stderr]).toEqual([1, '']);
  const common = {
    exists: true,
    rendered: true,
    pool: 'worker',
    suggestion: null,
  };
  const node = { kind: 'Node', name: 'worker-0', keepsConfig: true };
  const usedBy = [
    { ...node, field: 'currentConfig' },
    { ...node, field: 'desiredConfig' },
    { kind: 'MachineConfigPool', name: 'worker', field: 'status', keepsConfig: true },
  ];
  const note = { ...node, field: 'lastAppliedDrain', keepsConfig: false };
  expect(JSON.parse(stdout)).toStrictEqual({
    server: address,
    readAt: TIME,
    allUsed: false,
    unreportedNodes: 0,
    configs: [
      { ...common, name: NEW, used: true, usedBy },
      { ...common, name: OLD, used: false, usedBy: [note] },
      {
        name: TYPO,
        exists: false,
        rendered: false,
        pool: null,
        used: false,
        usedBy: [],
        suggestion: NEW,
      },
    ],
  });
  const names = await run('who-uses', NEW, OLD, '--output', 'name');
  expect(names).toEqual({
    exitCode: 1,
    stdout: 'node/worker-0\nmachineconfigpool/worker\n',
    stderr: '',
  });
});

test('without a name, lists every rendered config, and the missing ones first', async () => {
  const { run, cluster } = await startHealthyCluster();
  createConfig(cluster, '99-worker-ssh');
  annotate(cluster, 'worker-0', { desiredConfig: GONE, lastAppliedDrain: `uncordon-${OLD}` });
  const { exitCode, stdout, stderr } = await run('who-uses');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const [table = '', text = ''] = stdout.split('\n\n');
  expect(table.replaceAll(/\d+s(?= )|\d+ B/g, (match) => match.replace(/\d+/, '0')).split('\n')).toEqual([
    'NAME                                              POOL        AGE   SIZE  USED BY',
    `${GONE}  worker  missing         1 node`,
    `${OLD}  worker       0s  0 B  <none>`,
    `${NEW}  worker       0s  0 B  1 node, 1 pool`,
  ]);
  expect(text.replaceAll('\n', ' ')).toMatch(
    /^2 rendered configs, 1 unused \(\d+ B\), 1 missing\. .* machineconfig-guard check --kubeconfig \S+ $/,
  );
  const names = await run('who-uses', '--output', 'name');
  expect(names.stdout.trim().split('\n').toSorted()).toEqual([OLD, NEW]);
});

test.each(['table', 'wide', 'json', 'yaml', 'name'])(
  'prints no control character of a cluster with -o %s',
  async (output) => {
    const { run, cluster } = await startHealthyCluster();
    const hostile = 'worker\u001B]52;c;eA==\u0007\u009B\u202E';
    // The pool of this name contains the control characters.
    annotate(cluster, 'worker-0', { desiredConfig: `rendered-${hostile}-${'a'.repeat(32)}` });
    annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}${hostile}` });
    for (const args of [[], [OLD], ['--unused'], [`rendered-${hostile}-${'a'.repeat(32)}`]]) {
      const { stdout, stderr } = await run('who-uses', ...args, '-o', output);
      expect((stdout + stderr).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      if (args.length === 0 && output !== 'name') expect(stdout).toContain('52;c;eA==');
    }
  },
);

test('without a name, prints exactly the documented JSON keys', async () => {
  const { run, cluster, address } = await startHealthyCluster();
  cluster.patch('machineconfigpools', 'worker', { spec: { configuration: { name: GONE } } });
  const { stdout } = await run('who-uses', '--output', 'json');
  const node = { kind: 'Node', name: 'worker-0', keepsConfig: true };
  const pool = { kind: 'MachineConfigPool', name: 'worker', keepsConfig: true };
  const common = {
    pool: 'worker',
    exists: true,
    createdAt: TIME,
    sizeBytes: expect.any(Number) as number,
  };
  const report = JSON.parse(stdout) as { configs: { name: string }[] };
  report.configs.sort((a, b) => (a.name < b.name ? -1 : 1));
  expect(report).toStrictEqual({
    server: address,
    readAt: TIME,
    unreportedNodes: 0,
    configs: [
      { ...common, name: OLD, used: false, usedBy: [] },
      {
        ...common,
        name: NEW,
        used: true,
        usedBy: [
          { ...node, field: 'currentConfig' },
          { ...node, field: 'desiredConfig' },
          { ...pool, field: 'status' },
        ],
      },
      {
        ...common,
        name: GONE,
        exists: false,
        createdAt: null,
        sizeBytes: null,
        used: true,
        usedBy: [{ ...pool, field: 'spec' }],
      },
    ],
  });
});

test.each([
  ['its beginning', NEW.slice(0, -20), `${NEW} is in use by`],
  ['its beginning without rendered-', NEW.slice('rendered-'.length, -20), `${NEW} is in use by`],
  ['a missing name that a node names', GONE.slice(0, -4), `${GONE.slice(0, -4)} does not exist. It is still named by`],
])('finds a config by %s', async (_name, argument, text) => {
  const { run, cluster } = await startHealthyCluster();
  createConfig(cluster, GONE);
  annotate(cluster, 'worker-0', { desiredConfig: GONE.slice(0, -4) });
  expect((await run('who-uses', argument)).stdout.replaceAll('\n', ' ')).toContain(text);
});

test('exits with 2 and names the configs that begin with an ambiguous name', async () => {
  const { run } = await startHealthyCluster();
  expect(await run('who-uses', 'worker-')).toEqual(
    usageError(`"worker-" begins several names: ${OLD} and ${NEW}; add more characters\n`),
  );
});

test('-o wide names the referrers, and -o yaml prints the JSON as YAML', async () => {
  const { run } = await startHealthyCluster();
  expect((await run('who-uses', '-o', 'wide')).stdout).toMatch(/ node worker-0 and pool worker$/m);
  const { configs } = parse((await run('who-uses', '-o', 'yaml')).stdout) as { configs: unknown[] };
  expect(configs).toHaveLength(2);
});

test('finds a config that is created after the nodes were listed', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.faults.intercept(({ path }) => {
    if (path === NODES_PATH) {
      createConfig(cluster, GONE);
      annotate(cluster, 'worker-0', { desiredConfig: GONE });
    }
    return 'pass';
  });
  expect((await run('who-uses', GONE)).stdout).toContain(`${GONE} is in use by 1 node.`);
});

test('--unused leaves out a config that a node names after the configs were listed', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.faults.intercept(({ path }) => {
    if (path === MACHINE_CONFIGS_PATH) annotate(cluster, 'worker-0', { desiredConfig: OLD });
    return 'pass';
  });
  expect((await run('who-uses', '--unused')).stdout).toBe('Every rendered config is in use.\n');
});

test('--unused reports that there are no rendered configs', async () => {
  const { run } = await startEmptyCluster();
  expect((await run('who-uses', '--unused')).stdout).toBe('No rendered MachineConfigs found.\n');
});

test('--unused prints names and a notice, or exactly the documented JSON keys', async () => {
  const { run, cluster, address } = await startHealthyCluster();
  createConfig(cluster, '99-worker-ssh');
  annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
  const names = await run('who-uses', '--unused', '--output', 'name');
  expect(names).toMatchObject({ exitCode: 0, stdout: `${OLD}\n` });
  expect(names.stderr).toBe('Point-in-time snapshot; only the guard blocks a deletion.\n');
  const sizeBytes = JSON.stringify(cluster.get('machineconfigs', OLD)).length;
  const mentionedBy = [{ kind: 'Node', name: 'worker-0', field: 'lastAppliedDrain' }];
  const { stdout } = await run('who-uses', '--unused', '--output', 'json');
  expect(JSON.parse(stdout)).toStrictEqual({
    server: address,
    readAt: TIME,
    unreportedNodes: 0,
    unused: [
      {
        name: OLD,
        pool: 'worker',
        createdAt: TIME,
        heldUntil: null,
        sizeBytes,
        mentionedBy,
      },
    ],
    totalBytes: sizeBytes,
  });
});

interface Unused {
  readonly readAt: string;
  readonly unused: readonly { readonly name: string; readonly heldUntil: string | null }[];
}

async function readUnused(run: (...args: string[]) => Promise<Outcome>): Promise<Unused> {
  return JSON.parse((await run('who-uses', '--unused', '-o', 'json')).stdout) as Unused;
}

// The local clock is a day late, but the times of the hold are those of the API server.
test('--unused holds the configs of a pool that has changed lately, by the clock of the API server', async () => {
  const { run, cluster } = await startHealthyCluster();
  const changedAt = holdUnusedConfigs(cluster, '1h', 10);
  cluster.create('machineconfigs', { metadata: { name: OTHER_POOL } });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());

  const { readAt, unused } = await readUnused(run);

  // The creation of the config, and times of the API server have whole seconds.
  const until = new Date(unused.find(({ name }) => name === OLD)?.heldUntil ?? '').getTime();
  expect(until - changedAt.getTime()).toBeGreaterThanOrEqual(60 * 60_000);
  expect(until - new Date(readAt).getTime()).toBeLessThanOrEqual(60 * 60_000 + 1_000);
  expect(unused.find(({ name }) => name === OTHER_POOL)).toMatchObject({ heldUntil: null });
  const names = await run('who-uses', '--unused', '-o', 'name');
  expect(names.stdout).toBe(`${OTHER_POOL}\n`);
  expect(names.stderr).toMatch(/^Omitted 1 held config\.\n/);
});

test.each([
  ['after the hold', '1m', 10],
  ['if the hold is off', '0s', 0],
])('--unused holds no old config %s', async (_condition, hold, minutesAgo) => {
  const { run, cluster } = await startHealthyCluster();
  holdUnusedConfigs(cluster, hold, minutesAgo);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 });
  createConfig(cluster, GONE);
  vi.useRealTimers();
  const { unused } = await readUnused(run);
  expect(unused.find(({ name }) => name === GONE)).toMatchObject({ heldUntil: null });
});

test('--unused finds the pool of a config without a pool in its name by its owner', async () => {
  const { run, cluster } = await startHealthyCluster();
  holdUnusedConfigs(cluster, '1h');
  const ownerReferences = [{ kind: 'MachineConfigPool', name: 'worker' }];
  cluster.create('machineconfigs', { metadata: { name: 'rendered-by-hand', ownerReferences } });
  const { unused } = await readUnused(run);
  expect(unused.find(({ name }) => name === 'rendered-by-hand')?.heldUntil).toEqual(TIME);
});

test('--unused exits with 3 if the hold of the guard cannot be read', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.faults.intercept(({ path }) => (path === GUARD_PATH ? { status: 403 } : 'pass'));
  expect(await run('who-uses', '--unused', '-o', 'name')).toMatchObject({
    exitCode: 3,
    stdout: '',
    stderr: expect.stringContaining('denies you "get" on machineconfigguards') as string,
  });
});

test('--unused gets only unused configs, each once', async () => {
  const { run, cluster } = await startHealthyCluster();
  for (let index = 10; index < 20; index += 1) createConfig(cluster, `rendered-worker-${String(index).repeat(16)}`);
  const { stdout } = await run('who-uses', '--unused', '--output', 'name');
  const paths = cluster.faults.requests.map(({ path }) => path);
  const gets = paths.filter((path) => path.startsWith(`${MACHINE_CONFIGS_PATH}/`));
  expect(gets).toHaveLength(11);
  const names = stdout.trimEnd().split('\n');
  expect(gets.toSorted()).toEqual(names.map((name) => `${MACHINE_CONFIGS_PATH}/${name}`).toSorted());
});

test.each([
  [['--unused', NEW], '--unused takes no names\n'],
  [[''], 'config name must not be empty\n'],
])('with %j, exits with 2', async (args, sentence) => {
  const { run } = await startHealthyCluster();
  expect(await run('who-uses', ...args)).toEqual(usageError(sentence));
});
