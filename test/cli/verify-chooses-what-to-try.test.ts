import { expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { createConfig, createNode, createPool, GONE, inspectedCluster, NEW, OLD } from './inspected-cluster.ts';
import type { TestCluster } from '../support/test-cluster.ts';

/** What `verify` tried, and on whose behalf; what it says where it had nothing. */
async function tried(prepare: (sandbox: TestCluster) => void): Promise<{ tried: unknown; explanation: string }> {
  const { run, sandbox } = await inspectedCluster();
  prepare(sandbox);
  const { exitCode, stdout } = await run('verify', '--output', 'json');
  expect(exitCode).toBe(1);
  return JSON.parse(stdout) as { tried: unknown; explanation: string };
}

function createBuild(sandbox: TestCluster, config: string): void {
  sandbox.create('machineosbuilds', { metadata: { name: 'build-0' }, spec: { machineConfig: { name: config } } });
}

function override(sandbox: TestCluster, config: string, reason: string): void {
  sandbox.patch('machineconfigs', config, { metadata: { annotations: { [ALLOW_DELETION_ANNOTATION]: reason } } });
}

test('a config that a node names goes before one that a pool names', async () => {
  const report = await tried((sandbox) => {
    for (const config of [OLD, NEW]) createConfig(sandbox, config);
    createPool(sandbox, 'worker', { spec: OLD });
    createNode(sandbox, 'worker-0', { desiredConfig: NEW });
  });
  expect(report.tried).toEqual({ config: NEW, kind: 'Node', name: 'worker-0', field: 'desiredConfig' });
});

test('one that a pool names goes before one that a build names', async () => {
  const report = await tried((sandbox) => {
    for (const config of [OLD, NEW]) createConfig(sandbox, config);
    createBuild(sandbox, OLD);
    createPool(sandbox, 'worker', { status: NEW });
  });
  expect(report.tried).toEqual({ config: NEW, kind: 'MachineConfigPool', name: 'worker', field: 'status' });
});

test('that of a build is better than none', async () => {
  const report = await tried((sandbox) => {
    createConfig(sandbox, OLD);
    createBuild(sandbox, OLD);
  });
  expect(report.tried).toMatchObject({ config: OLD, kind: 'MachineOSBuild', field: 'machineConfig' });
});

test.each(['a reason', ''])(
  'one whose deletion is allowed by annotation (%j) proves nothing: another is taken',
  async (reason) => {
    const report = await tried((sandbox) => {
      for (const config of [OLD, NEW]) createConfig(sandbox, config);
      createNode(sandbox, 'worker-0', { currentConfig: OLD, desiredConfig: NEW });
      override(sandbox, OLD, reason);
    });
    expect(report.tried).toMatchObject({ config: NEW });
  },
);

test.each<[string, (sandbox: TestCluster) => void, RegExp]>([
  ['no configs', () => undefined, /there are no rendered MachineConfigs$/],
  [
    'only source configs',
    (sandbox) => {
      createConfig(sandbox, toConfigName('99-worker'));
      createNode(sandbox, 'worker-0', { currentConfig: '99-worker' });
    },
    /there are no rendered MachineConfigs$/,
  ],
  [
    'none in use',
    (sandbox) => {
      createConfig(sandbox, OLD);
    },
    /no rendered MachineConfig is in use by a node or a pool$/,
  ],
  [
    'a node names one that does not exist',
    (sandbox) => {
      createConfig(sandbox, OLD);
      createNode(sandbox, 'worker-0', { currentConfig: GONE });
    },
    /no rendered MachineConfig is in use/,
  ],
  [
    'only one whose deletion is allowed',
    (sandbox) => {
      createConfig(sandbox, NEW);
      createNode(sandbox, 'worker-0', { currentConfig: NEW });
      override(sandbox, NEW, 'a reason');
    },
    /has the annotation that allows its deletion/,
  ],
])('%s: nothing to try it with', async (_name, prepare, why) => {
  const report = await tried(prepare);
  expect(report.tried).toBeNull();
  expect(report.explanation).toMatch(/^there is nothing to try it with: /);
  expect(report.explanation).toMatch(why);
});
