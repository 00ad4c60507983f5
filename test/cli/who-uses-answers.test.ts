import { describe, expect, test } from 'vitest';
import type { SeenRequest } from '../support/faults.ts';
import { annotate, createConfig, GONE, healthyCluster, NEW, OLD } from './inspected-cluster.ts';

const MCO = '/apis/machineconfiguration.openshift.io/v1';
const TYPO = NEW.replace('rendered', 'render');
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/) as string;

/** A use that keeps the config. */
function hard(kind: string, name: string, field: string): object {
  return { kind, name, field, strength: 'hard' };
}

function words(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

test('0: in use, by whom and where', async () => {
  const { run } = await healthyCluster();
  const { exitCode, stdout, stderr } = await run('who-uses', NEW);
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).toBe(
    [
      `${NEW} is in use by 1 node and 1 pool.`,
      'KIND               NAME      FIELD                         STRENGTH',
      'Node               worker-0  currentConfig, desiredConfig  hard',
      'MachineConfigPool  worker    spec, status                  hard',
      '',
    ].join('\n'),
  );
});

test('1: not in use', async () => {
  const { run } = await healthyCluster();
  expect(await run('who-uses', OLD)).toEqual({ exitCode: 1, stdout: `${OLD} is not in use.\n`, stderr: '' });
});

test('a note keeps nothing: 1', async () => {
  const { run, sandbox } = await healthyCluster();
  annotate(sandbox, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
  const { exitCode, stdout } = await run('who-uses', OLD);
  expect(exitCode).toBe(1);
  expect(words(stdout)).toBe(
    `${OLD} is not in use. Mentioned without keeping it by 1 node. KIND NAME FIELD STRENGTH Node worker-0 lastAppliedDrain note`,
  );
});

test('an unfinished build keeps it, a finished one does not', async () => {
  const { run, sandbox } = await healthyCluster();
  sandbox.create('machineosbuilds', { metadata: { name: 'b0' }, spec: { machineConfig: { name: OLD } } });
  expect((await run('who-uses', OLD)).exitCode).toBe(0);
  sandbox.patch('machineosbuilds', 'b0', { status: { conditions: [{ type: 'Succeeded', status: 'True' }] } });
  expect((await run('who-uses', OLD)).exitCode).toBe(1);
});

test('several: 0 only where all are in use', async () => {
  const { run } = await healthyCluster();
  const both = await run('who-uses', NEW, OLD);
  expect(both.exitCode).toBe(1);
  expect(both.stdout).toContain(`${NEW} is in use`);
  expect(both.stdout).toContain(`${OLD} is not in use`);
  expect((await run('who-uses', NEW, NEW)).exitCode).toBe(0);
});

test('an unknown name: the nearest, and who names it all the same', async () => {
  const { run, sandbox } = await healthyCluster();
  const unused = await run('who-uses', TYPO);
  expect(unused.exitCode).toBe(1);
  expect(words(unused.stdout)).toBe(`${TYPO} is not in the API. Nothing uses it. Nearest existing name: ${NEW}.`);

  annotate(sandbox, 'worker-0', { desiredConfig: TYPO });
  const dangling = await run('who-uses', TYPO);
  expect(dangling.exitCode).toBe(0);
  expect(words(dangling.stdout)).toContain(`${TYPO} is not in the API. It is named all the same, by 1 node.`);
  expect(dangling.stdout).toMatch(/^Node +worker-0 +desiredConfig +hard$/m);

  const nothing = await run('who-uses', `rendered-worker-${'7'.repeat(32)}`);
  expect(words(nothing.stdout)).not.toContain('Nearest');
});

test('a source config: the guard does not protect it', async () => {
  const { run, sandbox } = await healthyCluster();
  createConfig(sandbox, '99-worker-ssh');
  const { exitCode, stdout } = await run('who-uses', '99-worker-ssh');
  expect(exitCode).toBe(1);
  expect(words(stdout)).toContain('It is no rendered config: the guard does not protect it');
});

test('names as `oc get machineconfig -o name` writes them', async () => {
  const { run } = await healthyCluster();
  const long = await run('who-uses', `machineconfig.machineconfiguration.openshift.io/${NEW}`, `mc/${NEW}`);
  expect(long).toEqual(await run('who-uses', NEW));
});

test('nodes that have not reported may use any', async () => {
  const { run, sandbox } = await healthyCluster();
  sandbox.create('nodes', { metadata: { name: 'new' } });
  expect(words((await run('who-uses', OLD)).stdout)).toBe(
    `${OLD} is not in use. 1 node has not reported a configuration yet and may use any config.`,
  );
  expect(words((await run('who-uses', '--unused')).stdout)).toContain(
    '1 node has not reported a configuration yet and may need one of them.',
  );
});

describe('--unused', () => {
  test('rendered configs that nothing uses, with pool, age and size; source configs never', async () => {
    const { run, sandbox } = await healthyCluster();
    createConfig(sandbox, '99-worker-ssh');
    annotate(sandbox, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
    createConfig(sandbox, GONE);
    const { exitCode, stdout, stderr } = await run('who-uses', '--unused');
    expect([exitCode, stderr]).toEqual([0, '']);
    const [head, ...rows] = stdout.split('\n');
    expect(head).toMatch(/^NAME +POOL +AGE +SIZE +NOTES$/);
    expect(rows[0]).toMatch(new RegExp(`^${OLD}  worker +\\d+s +\\d{3} B +1$`));
    expect(rows[1]).toMatch(new RegExp(`^${GONE}  worker +\\d+s +\\d{3} B$`));
    expect(words(stdout)).toContain(
      '2 rendered configs that nothing uses, 614 B in all. This is true at this moment only. What keeps a config that is in use from being deleted is the guard, not this list.',
    );
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  });

  test('names for xargs on stdout, the caution on stderr', async () => {
    const { run, sandbox } = await healthyCluster();
    createConfig(sandbox, GONE);
    const { exitCode, stdout, stderr } = await run('who-uses', '--unused', '--output', 'name');
    expect([exitCode, stdout]).toEqual([0, `${OLD}\n${GONE}\n`]);
    expect(stderr).toContain('true at this moment only');
  });

  test('JSON', async () => {
    const { run, sandbox, address } = await healthyCluster();
    annotate(sandbox, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
    const { exitCode, stdout, stderr } = await run('who-uses', '--unused', '--output', 'json');
    expect([exitCode, stderr]).toEqual([0, '']);
    const size = JSON.stringify(sandbox.get('machineconfigs', OLD)).length;
    expect(JSON.parse(stdout)).toStrictEqual({
      server: address,
      readAt: TIME,
      unreportedNodes: 0,
      unused: [
        {
          name: OLD,
          pool: 'worker',
          createdAt: TIME,
          sizeBytes: size,
          mentionedBy: [{ kind: 'Node', name: 'worker-0', field: 'lastAppliedDrain' }],
        },
      ],
      totalBytes: size,
    });
  });

  test('none', async () => {
    const { run, sandbox } = await healthyCluster();
    sandbox.erase('machineconfigs', OLD);
    expect(await run('who-uses', '--unused')).toEqual({
      exitCode: 0,
      stdout: 'Every rendered config is in use.\n',
      stderr: '',
    });
    expect((await run('who-uses', '--unused', '--output', 'name')).stdout).toBe('');
  });

  test('whole configs are asked for one by one, and only those that nothing uses', async () => {
    const { run, sandbox } = await healthyCluster();
    for (let index = 10; index < 40; index += 1) createConfig(sandbox, `rendered-worker-${String(index).repeat(16)}`);
    const asked: string[] = [];
    const lists: string[] = [];
    sandbox.faults.intercept(({ path, headers }: SeenRequest) => {
      if (path.startsWith(`${MCO}/machineconfigs/`)) asked.push(path.split('/').at(-1) ?? '');
      if (path === `${MCO}/machineconfigs`) lists.push(headers.accept ?? '');
      return 'pass';
    });
    const { stdout } = await run('who-uses', '--unused', '--output', 'json');
    const report = JSON.parse(stdout) as { unused: { name: string }[] };
    expect(report.unused).toHaveLength(31);
    expect(asked.toSorted()).toEqual(report.unused.map(({ name }) => name).toSorted());
    expect(lists).toEqual([expect.stringContaining('as=PartialObjectMetadataList')]);
  });

  test('one that goes away meanwhile is left out', async () => {
    const { run, sandbox } = await healthyCluster();
    createConfig(sandbox, GONE);
    sandbox.faults.intercept(({ path }: SeenRequest) => {
      if (path === `${MCO}/machineconfigs/${OLD}`) sandbox.erase('machineconfigs', OLD);
      return 'pass';
    });
    expect((await run('who-uses', '--unused', '--output', 'name')).stdout).toBe(`${GONE}\n`);
  });
});

test('JSON, and users for xargs', async () => {
  const { run, sandbox, address } = await healthyCluster();
  annotate(sandbox, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
  const { exitCode, stdout, stderr } = await run('who-uses', NEW, OLD, TYPO, '--output', 'json');
  expect([exitCode, stderr]).toEqual([1, '']);
  const common = { exists: true, rendered: true, pool: 'worker', suggestion: null };
  expect(JSON.parse(stdout)).toStrictEqual({
    server: address,
    readAt: TIME,
    allUsed: false,
    unreportedNodes: 0,
    configs: [
      {
        ...common,
        name: NEW,
        used: true,
        usedBy: [
          hard('Node', 'worker-0', 'currentConfig'),
          hard('Node', 'worker-0', 'desiredConfig'),
          hard('MachineConfigPool', 'worker', 'spec'),
          hard('MachineConfigPool', 'worker', 'status'),
        ],
      },
      {
        ...common,
        name: OLD,
        used: false,
        usedBy: [{ kind: 'Node', name: 'worker-0', field: 'lastAppliedDrain', strength: 'note' }],
      },
      { name: TYPO, exists: false, rendered: false, pool: null, used: false, usedBy: [], suggestion: NEW },
    ],
  });
  expect(await run('who-uses', NEW, OLD, '--output', 'name')).toEqual({
    exitCode: 1,
    stdout: 'node/worker-0\nmachineconfigpool/worker\n',
    stderr: '',
  });
});

test.each([
  [[], 'name a config, or use --unused to list those that nothing uses.'],
  [['--unused', NEW], '--unused looks at all rendered configs: leave the names away.'],
  [[''], 'a config has no empty name.'],
  [[NEW, '--output', 'yaml'], 'Allowed choices are table, json, name'],
])('2: %j', async (args, sentence) => {
  const { run } = await healthyCluster();
  const { exitCode, stdout, stderr } = await run('who-uses', ...args);
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr).toContain(sentence);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test.each([
  ['/api/v1/nodes', 'list', 'nodes', [NEW]],
  [`${MCO}/machineconfigpools`, 'list', 'machineconfigpools.machineconfiguration.openshift.io', [NEW]],
  [`${MCO}/machineosbuilds`, 'list', 'machineosbuilds.machineconfiguration.openshift.io', [NEW]],
  [`${MCO}/machineconfigs`, 'list', 'machineconfigs.machineconfiguration.openshift.io', ['--unused']],
  [`${MCO}/machineconfigs/${OLD}`, 'get', 'machineconfigs.machineconfiguration.openshift.io', ['--unused']],
])('3: %s may not be read', async (path, verb, resource, args) => {
  const { run, sandbox, address } = await healthyCluster();
  sandbox.faults.intercept((request) => (request.path === path ? { status: 403 } : 'pass'));
  expect(await run('who-uses', ...args)).toEqual({
    exitCode: 3,
    stdout: '',
    stderr: `machineconfig-guard: the API server at ${address} does not permit you to ${verb} ${resource}; the role cluster-reader does (check with: oc auth can-i ${verb} ${resource}).\n`,
  });
});

test('a cluster without builds has none; one without pools cannot be asked', async () => {
  const { run, sandbox } = await healthyCluster();
  sandbox.serve('machineosbuilds', []);
  expect((await run('who-uses', NEW)).exitCode).toBe(0);
  sandbox.serve('machineconfigpools', []);
  expect(await run('who-uses', NEW)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('does not serve machineconfigpools.machineconfiguration.openshift.io'),
  });
});
