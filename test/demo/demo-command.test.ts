import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { DemoReport } from '../../src/demo/run-demo.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');

/** Runs the demo like `npm run demo`, with its output in a pipe. */
async function runDemo(...args: readonly string[]) {
  const options = { cwd: ROOT, env: { PATH: process.env['PATH'] ?? '' } };
  const command = ['--import', 'tsx', 'src/demo/main.ts', ...args];
  return await promisify(execFile)(process.execPath, command, options);
}

test('prints JSON with a deadlock without the guard and a complete install with it', async () => {
  const { stdout, stderr } = await runDemo('--output', 'json', '--speed', '2000');
  expect(stderr).toBe('');
  const { runs, ...rest } = JSON.parse(stdout) as DemoReport;
  expect(rest).toEqual({ speed: 2000, asExpected: true });
  const [unguarded, guarded] = runs;
  expect(unguarded).toMatchObject({ guard: false, outcome: 'deadlock', decisions: [] });
  expect(guarded).toMatchObject({
    guard: true,
    outcome: 'completed',
    configs: ['rendered-master-bbb222'],
  });
  expect(guarded?.decisions).toMatchObject([
    {
      name: 'rendered-master-aaa111',
      user: 'system:serviceaccount:cluster-cleanup:rendered-config-cleanup',
      outcome: 'denied',
      code: 'MCG_IN_USE',
      referrers: [
        { kind: 'Node', name: 'control2', field: 'currentConfig' },
        { kind: 'Node', name: 'control2', field: 'desiredConfig' },
      ],
    },
    {
      name: 'rendered-master-aaa111',
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
    { t: 606, message: 'deletes rendered-master-aaa111, which no node uses any more' },
  ]);
});

test('prints the denial and both ends, without long lines and colors in a pipe', async () => {
  const { stdout } = await runDemo('--speed', '2000');
  const text = stdout.replaceAll(/\s+/g, ' ');
  expect(text).toContain(
    'admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE',
  );
  expect(text).toContain('Without the guard: deadlock, the install never completes');
  expect(text).toContain('With the guard: the install completes');
  const longLines = stdout.split('\n').filter((line) => line.length > 80);
  // A link is not broken.
  expect(longLines.every((line) => line.trim().startsWith('https://'))).toBe(true);
  expect(stdout).not.toContain('\u001B');
});
