import { expect, test } from 'vitest';
import { NEW, OLD } from './inspected-cluster.ts';
import { verifiedCluster } from './verified-cluster.ts';

const TEXT = expect.any(String) as string;

/** Exactly these keys, with values of these types. One that goes away or is renamed breaks other people's scripts. */
test('of a cluster that is protected', async () => {
  const { run, sandbox, address } = await verifiedCluster();
  sandbox.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Enforce' } });

  const { exitCode, stdout, stderr } = await run('verify', '--output', 'json');

  expect([exitCode, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toStrictEqual({
    server: address,
    protected: true,
    by: 'guard',
    explanation: TEXT,
    advice: '',
    webhooks: [
      {
        configuration: 'machineconfig-guard',
        failurePolicy: 'Fail',
        caBundle: true,
        injected: false,
        target: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+\/validate$/) as string,
      },
    ],
    floor: [],
    mode: 'Enforce',
    tried: { config: NEW, kind: 'Node', name: 'worker-0', field: 'currentConfig' },
    answer: {
      status: 403,
      message: expect.stringMatching(/^admission webhook "\S+" denied the request: MCG_IN_USE/) as string,
    },
    unused: { config: OLD, wouldBeDeleted: true, message: '' },
  });
});

test('what there is not is null, and lists are there although they are empty', async () => {
  const { run, sandbox } = await verifiedCluster({ guarded: false });
  sandbox.erase('nodes', 'worker-0');
  sandbox.erase('machineconfigs', NEW);
  sandbox.erase('machineconfigs', OLD);

  const { exitCode, stdout } = await run('verify', '--output', 'json');

  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    protected: false,
    by: null,
    advice: TEXT,
    webhooks: [],
    floor: [],
    mode: null,
    tried: null,
    answer: null,
    unused: null,
  });
});
