import { describe, expect, test } from 'vitest';
import { MACHINE_CONFIGS_PATH, NODES_PATH, POOLS_PATH } from '../../../src/kube/api-paths.ts';
import { annotate, createConfig, GONE, NEW, OLD, startHealthyCluster } from '../inspected-cluster.ts';
import { usageError } from '../run-program.ts';

const TYPO = NEW.replace('rendered', 'render');
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/) as string;

/** The text without line breaks. */
function unwrap(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

test('for a config in use, prints the referrers and exits with 0', async () => {
  const { run } = await startHealthyCluster();
  const lines = [
    `${NEW} is in use by 1 node and 1 pool.`,
    'KIND               NAME      FIELD                         STRENGTH',
    'Node               worker-0  currentConfig, desiredConfig  hard',
    'MachineConfigPool  worker    spec, status                  hard',
    '',
  ];
  expect(await run('who-uses', NEW)).toEqual({ exitCode: 0, stdout: lines.join('\n'), stderr: '' });
});

test('for an unused config, exits with 1 and shows weak references', async () => {
  const { run, cluster } = await startHealthyCluster();
  expect(await run('who-uses', OLD)).toEqual({ exitCode: 1, stdout: `${OLD} is not in use.\n`, stderr: '' });
  annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
  const { exitCode, stdout } = await run('who-uses', OLD);
  expect(exitCode).toBe(1);
  expect(unwrap(stdout)).toBe(
    `${OLD} is not in use. Mentioned without keeping it by 1 node. ` +
      'KIND NAME FIELD STRENGTH Node worker-0 lastAppliedDrain note',
  );
});

test('a build uses its config until it has ended, and a cluster can lack builds, but not pools', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.create('machineosbuilds', { metadata: { name: 'b0' }, spec: { machineConfig: { name: OLD } } });
  expect((await run('who-uses', OLD)).exitCode).toBe(0);
  cluster.patch('machineosbuilds', 'b0', { status: { conditions: [{ type: 'Succeeded', status: 'True' }] } });
  expect((await run('who-uses', OLD)).exitCode).toBe(1);
  cluster.serve('machineosbuilds', []);
  expect((await run('who-uses', NEW)).exitCode).toBe(0);
  cluster.serve('machineconfigpools', []);
  expect((await run('who-uses', NEW)).exitCode).toBe(3);
});

test('for a missing config, prints the nearest name and the dangling references', async () => {
  const { run, cluster } = await startHealthyCluster();
  const unused = await run('who-uses', TYPO);
  expect(unused.exitCode).toBe(1);
  expect(unwrap(unused.stdout)).toBe(`${TYPO} is not in the API. Nothing uses it. Nearest existing name: ${NEW}.`);

  annotate(cluster, 'worker-0', { desiredConfig: TYPO });
  const dangling = await run('who-uses', TYPO);
  expect(dangling.exitCode).toBe(0);
  expect(unwrap(dangling.stdout)).toContain(`${TYPO} is not in the API. It is named all the same, by 1 node.`);
  expect(dangling.stdout).toMatch(/^Node +worker-0 +desiredConfig +hard$/m);

  expect((await run('who-uses', `rendered-worker-${'7'.repeat(32)}`)).stdout).not.toContain('Nearest');
});

test('for a source config, says that the guard does not protect it', async () => {
  const { run, cluster } = await startHealthyCluster();
  createConfig(cluster, '99-worker-ssh');
  const stdout = expect.stringContaining('It is no rendered config: the guard does not protect it') as string;
  expect(await run('who-uses', '99-worker-ssh')).toMatchObject({ exitCode: 1, stdout });
});

test('accepts names as `oc get machineconfig -o name` prints them', async () => {
  const { run } = await startHealthyCluster();
  const names = [`machineconfig.machineconfiguration.openshift.io/${NEW}`, `mc/${NEW}`];
  expect(await run('who-uses', ...names)).toEqual(await run('who-uses', NEW));
});

test('counts the nodes that have not reported', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.create('nodes', { metadata: { name: 'new' } });
  const unreported = '1 node has not reported a configuration yet';
  expect(unwrap((await run('who-uses', OLD)).stdout)).toBe(
    `${OLD} is not in use. ${unreported} and may use any config.`,
  );
  const { stdout } = await run('who-uses', '--unused');
  expect(unwrap(stdout)).toContain(`${unreported} and may need one of them.`);
});

test('prints exactly the documented JSON keys, and only strong referrers as names', async () => {
  const { run, cluster, address } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
  const { exitCode, stdout, stderr } = await run('who-uses', NEW, OLD, TYPO, '--output', 'json');
  expect([exitCode, stderr]).toEqual([1, '']);
  const common = { exists: true, rendered: true, pool: 'worker', suggestion: null };
  const node = { kind: 'Node', name: 'worker-0', strength: 'hard' };
  const pool = { kind: 'MachineConfigPool', name: 'worker', strength: 'hard' };
  const usedBy = [
    { ...node, field: 'currentConfig' },
    { ...node, field: 'desiredConfig' },
    { ...pool, field: 'spec' },
    { ...pool, field: 'status' },
  ];
  const note = { kind: 'Node', name: 'worker-0', field: 'lastAppliedDrain', strength: 'note' };
  expect(JSON.parse(stdout)).toStrictEqual({
    server: address,
    readAt: TIME,
    allUsed: false,
    unreportedNodes: 0,
    configs: [
      { ...common, name: NEW, used: true, usedBy },
      { ...common, name: OLD, used: false, usedBy: [note] },
      { name: TYPO, exists: false, rendered: false, pool: null, used: false, usedBy: [], suggestion: NEW },
    ],
  });
  const names = 'node/worker-0\nmachineconfigpool/worker\n';
  expect(await run('who-uses', NEW, OLD, '--output', 'name')).toEqual({ exitCode: 1, stdout: names, stderr: '' });
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

describe('--unused', () => {
  test('leaves out a config that a node names after the configs were listed', async () => {
    const { run, cluster } = await startHealthyCluster();
    cluster.faults.intercept(({ path }) => {
      if (path === MACHINE_CONFIGS_PATH) annotate(cluster, 'worker-0', { desiredConfig: OLD });
      return 'pass';
    });
    expect((await run('who-uses', '--unused')).stdout).toBe('Every rendered config is in use.\n');
  });

  test('prints the unused rendered configs with pool, age, size and notes', async () => {
    const { run, cluster } = await startHealthyCluster();
    createConfig(cluster, '99-worker-ssh');
    createConfig(cluster, GONE);
    annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
    const { exitCode, stdout, stderr } = await run('who-uses', '--unused');
    expect([exitCode, stderr]).toEqual([0, '']);
    const [head, ...rows] = stdout.split('\n');
    expect(head).toMatch(/^NAME +POOL +AGE +SIZE +NOTES$/);
    expect(rows[0]).toMatch(new RegExp(`^${OLD}  worker +\\d+s +\\d{3} B +1$`));
    expect(rows[1]).toMatch(new RegExp(`^${GONE}  worker +\\d+s +\\d{3} B$`));
    expect(unwrap(stdout)).toMatch(
      / 2 rendered configs that nothing uses, \d{3} B in all\. This is true at this moment/,
    );
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  });

  test('prints names on stdout and a notice on stderr', async () => {
    const { run, cluster } = await startHealthyCluster();
    createConfig(cluster, GONE);
    const { exitCode, stdout, stderr } = await run('who-uses', '--unused', '--output', 'name');
    expect([exitCode, stdout]).toEqual([0, `${OLD}\n${GONE}\n`]);
    expect(stderr).toContain('true at this moment only');
  });

  test('prints exactly the documented JSON keys', async () => {
    const { run, cluster, address } = await startHealthyCluster();
    annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
    const { exitCode, stdout, stderr } = await run('who-uses', '--unused', '--output', 'json');
    expect([exitCode, stderr]).toEqual([0, '']);
    const sizeBytes = JSON.stringify(cluster.get('machineconfigs', OLD)).length;
    const mentionedBy = [{ kind: 'Node', name: 'worker-0', field: 'lastAppliedDrain' }];
    expect(JSON.parse(stdout)).toStrictEqual({
      server: address,
      readAt: TIME,
      unreportedNodes: 0,
      unused: [{ name: OLD, pool: 'worker', createdAt: TIME, sizeBytes, mentionedBy }],
      totalBytes: sizeBytes,
    });
  });

  test('prints one sentence if all configs are in use', async () => {
    const { run, cluster } = await startHealthyCluster();
    cluster.erase('machineconfigs', OLD);
    const stdout = 'Every rendered config is in use.\n';
    expect(await run('who-uses', '--unused')).toEqual({ exitCode: 0, stdout, stderr: '' });
    expect((await run('who-uses', '--unused', '--output', 'name')).stdout).toBe('');
  });

  test('gets only unused configs, each once, and lists metadata only', async () => {
    const { run, cluster } = await startHealthyCluster();
    for (let index = 10; index < 40; index += 1) createConfig(cluster, `rendered-worker-${String(index).repeat(16)}`);
    const gets: string[] = [];
    const lists: string[] = [];
    cluster.faults.intercept(({ path, headers }) => {
      if (path.startsWith(`${MACHINE_CONFIGS_PATH}/`)) gets.push(path.split('/').at(-1) ?? '');
      if (path === MACHINE_CONFIGS_PATH) lists.push(headers.accept ?? '');
      return 'pass';
    });
    const { stdout } = await run('who-uses', '--unused', '--output', 'name');
    const names = stdout.trimEnd().split('\n');
    expect(names).toHaveLength(31);
    expect(gets.toSorted()).toEqual(names.toSorted());
    expect(lists).toEqual([expect.stringContaining('as=PartialObjectMetadataList')]);
  });
});

test.each([
  [[], 'name a config, or use --unused to list those that nothing uses.'],
  [['--unused', NEW], '--unused looks at all rendered configs: leave the names away.'],
  [[''], 'a config has no empty name.'],
  [[NEW, '--output', 'yaml'], 'Allowed choices are table, json, name'],
])('with %j, exits with 2', async (args, sentence) => {
  const { run } = await startHealthyCluster();
  expect(await run('who-uses', ...args)).toEqual(usageError(sentence));
});

const MCO = 'machineconfiguration.openshift.io';

test.each([
  [NODES_PATH, 'list', 'nodes', [NEW]],
  [POOLS_PATH, 'list', `machineconfigpools.${MCO}`, [NEW]],
  [`/apis/${MCO}/v1/machineosbuilds`, 'list', `machineosbuilds.${MCO}`, [NEW]],
  [MACHINE_CONFIGS_PATH, 'list', `machineconfigs.${MCO}`, ['--unused']],
  [`${MACHINE_CONFIGS_PATH}/${OLD}`, 'get', `machineconfigs.${MCO}`, ['--unused']],
])('without permission for %s, exits with 3', async (path, verb, resource, args) => {
  const { run, cluster } = await startHealthyCluster();
  cluster.faults.intercept((request) => (request.path === path ? { status: 403 } : 'pass'));
  const stderr = expect.stringContaining(`(check with: oc auth can-i ${verb} ${resource}).\n`) as string;
  expect(await run('who-uses', ...args)).toEqual({ exitCode: 3, stdout: '', stderr });
});
