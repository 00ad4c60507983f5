import { describe, expect, test } from 'vitest';
import { MACHINE_CONFIGS_PATH, NODES_PATH } from '../../../src/kube/api-paths.ts';
import { annotate, createConfig, createNode, GONE, NEW, OLD, startHealthyCluster } from '../inspected-cluster.ts';
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
  annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
  const { exitCode, stdout } = await run('who-uses', OLD);
  expect(exitCode).toBe(1);
  expect(unwrap(stdout)).toBe(
    `${OLD} is not in use. Mentioned without keeping it by 1 node. ` +
      'KIND NAME FIELD STRENGTH Node worker-0 lastAppliedDrain note',
  );
});

test('for a config in use by a build, exits with 0', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.create('machineosbuilds', { metadata: { name: 'b0' }, spec: { machineConfig: { name: OLD } } });
  const stdout = expect.stringContaining('is in use by 1 build.') as string;
  expect(await run('who-uses', OLD)).toMatchObject({ exitCode: 0, stdout });
});

test.each([
  ['a missing config', TYPO, NEW, 1, `${TYPO} is not in the API. Nothing uses it. Nearest existing name: ${NEW}.`],
  ['a missing config that a node names', TYPO, TYPO, 0, 'It is named all the same, by 1 node.'],
  ['a missing config without a similar name', 'rendered-x', NEW, 1, 'Nothing uses it. 1 node has not reported'],
  ['a source config', '99-worker-ssh', NEW, 1, 'It is no rendered config: the guard does not protect it'],
  ['an unused config', OLD, NEW, 1, 'not in use. 1 node has not reported a configuration yet and may use any config.'],
])('explains the result for %s', async (_name, config, desiredConfig, exitCode, text) => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig });
  createConfig(cluster, '99-worker-ssh');
  createNode(cluster, 'new', {});
  const outcome = await run('who-uses', config);
  expect(outcome).toMatchObject({ exitCode, stderr: '' });
  expect(unwrap(outcome.stdout)).toContain(text);
});

test('accepts names as `oc get machineconfig -o name` prints them', async () => {
  const { run } = await startHealthyCluster();
  const names = [`machineconfig.machineconfiguration.openshift.io/${NEW}`, `mc/${NEW}`];
  expect(await run('who-uses', ...names)).toEqual(await run('who-uses', NEW));
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
    createNode(cluster, 'new', {});
    annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
    const { exitCode, stdout, stderr } = await run('who-uses', '--unused');
    expect([exitCode, stderr]).toEqual([0, '']);
    const [head, ...rows] = stdout.split('\n');
    expect(head).toMatch(/^NAME +POOL +AGE +SIZE +NOTES$/);
    expect(rows[0]).toMatch(new RegExp(`^${OLD}  worker +\\d+s +\\d{3} B +1$`));
    expect(rows[1]).toMatch(new RegExp(`^${GONE}  worker +\\d+s +\\d{3} B$`));
    expect(unwrap(stdout)).toMatch(
      / 2 rendered configs that nothing uses, \d{3} B in all\. This is .* 1 node has .* and may need one of them\.$/,
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
])('with %j, exits with 2', async (args, sentence) => {
  const { run } = await startHealthyCluster();
  expect(await run('who-uses', ...args)).toEqual(usageError(sentence));
});

test('without permission, exits with 3', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.faults.intercept(({ path }) => (path === `${MACHINE_CONFIGS_PATH}/${OLD}` ? { status: 403 } : 'pass'));
  const stderr = expect.stringContaining('(check with: oc auth can-i get machineconfigs.') as string;
  expect(await run('who-uses', '--unused')).toEqual({ exitCode: 3, stdout: '', stderr });
});
