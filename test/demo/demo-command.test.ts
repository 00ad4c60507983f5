import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { renderMachineConfig } from '../../src/demo/operator/machine-config.ts';
import type { DemoReport } from '../../src/demo/run-demo.ts';
import { CHRONY_FILES } from '../../src/demo/story/chrony-files.ts';

const { name: FIRST } = renderMachineConfig(CHRONY_FILES.bootstrap).metadata;
const { name: SECOND } = renderMachineConfig(CHRONY_FILES.cluster).metadata;

/** Runs the demo like `npm run demo`, with its output in a pipe. */
async function runDemo(...args: readonly string[]) {
  const options = { env: { PATH: process.env['PATH'] ?? '' } };
  return await promisify(execFile)(process.execPath, [inject('demo'), ...args], options);
}

test('prints JSON with a deadlock, and a complete install with the guard or the restore', async () => {
  const { stdout, stderr } = await runDemo('--output', 'json', '--speed', '2000');
  expect(stderr).toBe('');
  const { runs, restored, ...rest } = JSON.parse(stdout) as DemoReport;
  expect(rest).toEqual({ speed: 2000, asExpected: true });
  const [unguarded, guarded] = runs;
  expect(unguarded).toMatchObject({ guard: false, outcome: 'deadlock', decisions: [] });
  expect(guarded).toMatchObject({
    guard: true,
    outcome: 'completed',
    configs: [SECOND],
  });
  expect(guarded?.decisions).toMatchObject([
    {
      name: FIRST,
      outcome: 'denied',
      code: 'MCG_IN_USE',
      referrers: [
        { kind: 'Node', name: 'control2', field: 'currentConfig' },
        { kind: 'Node', name: 'control2', field: 'desiredConfig' },
      ],
    },
    {
      name: FIRST,
      outcome: 'allowed',
      code: 'MCG_NOT_IN_USE',
      referrers: [],
    },
  ]);
  expect(guarded?.events.filter(({ actor }) => actor === 'clean-up')).toMatchObject([
    {
      t: 366,
      refusal: { code: 403, reason: 'Forbidden', message: expect.stringContaining('MCG_IN_USE') },
    },
    { t: 606, message: `deletes ${FIRST}, which no node uses any more` },
  ]);
  expect(restored).toMatchObject({
    missing: FIRST,
    stuck: { outcome: 'deadlock', configs: [SECOND], pool: { configuration: '' } },
    check: { ok: false, recoverable: false },
    restore: { ok: true, configs: [{ name: FIRST, outcome: 'restored' }], pausedPools: [] },
    outcome: 'completed',
    configs: [FIRST, SECOND].sort(),
    pool: { configuration: SECOND, updatedMachineCount: 3 },
  });
});

test('prints the denial, the check, the restore and all ends, without long lines and colors in a pipe', async () => {
  const { stdout } = await runDemo('--speed', '2000');
  const text = stdout.replaceAll(/\s+/g, ' ');
  expect(text).toContain('admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE');
  expect(text).toContain('Without the guard: deadlock, the install never completes');
  expect(text).toContain('With the guard: the install completes');
  expect(text).toContain('$ machineconfig-guard check │ NODE');
  expect(text).toContain('$ machineconfig-guard restore --from node/control1 --confirm T+');
  expect(text).toContain('After the restore: the install completes');
  // A link is not broken. Tables and commands of check are not wrapped.
  const longLines = stdout.split('\n').filter((line) => line.length > 80 && !/^ {2}[ │] /.test(line));
  expect(longLines).toEqual([]);
  expect(stdout).not.toContain('\u001B');
});
