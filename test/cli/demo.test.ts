import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { DemoReport } from '../../src/demo/demo.ts';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '..', '..');

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program as a user starts it, with its output in a pipe. */
async function demo(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const options = { cwd: ROOT, env: { PATH: process.env['PATH'] ?? '', ...env } };
  const command = ['--import', 'tsx', 'src/cli/main.ts', 'demo', ...args];
  try {
    return { exitCode: 0, ...(await run(process.execPath, command, options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { exitCode: code, stdout, stderr };
  }
}

test('for scripts: a dead-lock without the guard, a complete install with it, and what the guard decided', async () => {
  const { exitCode, stdout, stderr } = await demo(['--output', 'json', '--speed', '2000']);
  expect([exitCode, stderr]).toEqual([0, '']);
  const { runs, ...rest } = JSON.parse(stdout) as DemoReport;
  expect(rest).toEqual({ speed: 2000, asExpected: true });
  const [without, guarded] = runs;
  expect(without).toMatchObject({ guard: false, outcome: 'deadlock', decisions: [] });
  expect(guarded).toMatchObject({ guard: true, outcome: 'completed' });
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
    { name: 'rendered-master-aaa111', outcome: 'allowed', code: 'MCG_NOT_IN_USE', referrers: [] },
  ]);
  for (const { events, nodes } of runs) {
    expect(events.length).toBeGreaterThan(10);
    for (const event of events) expect(event).toMatchObject({ t: expect.any(Number), actor: expect.any(String) });
    expect(nodes.map(({ name }) => name)).toEqual(['control0', 'control1', 'control2']);
  }
});

test('for people: the refusal as the API worded it, both ends, no line too long for a terminal, no colours in a pipe', async () => {
  const { exitCode, stdout, stderr } = await demo(['--speed', '2000']);
  expect([exitCode, stderr]).toEqual([0, '']);
  const words = stdout.replaceAll(/\s+/g, ' ');
  expect(words).toContain('admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE:');
  expect(words).toContain('rendered-master-aaa111 is in use by node control2 (currentConfig, desiredConfig).');
  expect(words).toContain('Without the guard: dead-lock, the install never ends');
  expect(words).toContain('With the guard: the install completes');
  const long = stdout.split('\n').filter((line) => line.length > 80);
  // Links are not broken.
  expect(long.every((line) => line.trim().startsWith('https://'))).toBe(true);
  expect(stdout).not.toContain('\u001B');
});

test('colours in a pipe only where they are forced', async () => {
  const { exitCode, stdout } = await demo(['--speed', '2000'], { FORCE_COLOR: '1' });
  expect(exitCode).toBe(0);
  expect(stdout).toContain('\u001B[31m');
});

test('a bad flag is one sentence', async () => {
  const { exitCode, stdout, stderr } = await demo(['--speed', 'warp']);
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr).toContain('whole number from 1 to 10000');
});
