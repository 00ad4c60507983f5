import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createTemporaryDirectory } from '../../cli/temporary-directory.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const OXLINT = path.join(ROOT, 'node_modules', 'oxlint', 'bin', 'oxlint');
const LIMIT = 'No test limits a measured time.';
const PAUSE = 'Wait for an event instead of a time before this expectation.';
const REASON = 'Give the reason for the exception after';

// Those with a message are from tests of this repository before the rule existed.
const CASES: readonly (readonly [code: string, message?: string])[] = [
  ['expect(performance.now() - startedAt).toBeLessThan(2_400);', LIMIT],
  ['const seconds = (Date.now() - startedAt) / 1_000;\nexpect(seconds).toBeLessThanOrEqual(5);', LIMIT],
  ['const { ms } = await cluster.expectUnverified(unused);\nexpect(ms).toBeLessThan(CALL_TIMEOUT_MS);', LIMIT],
  ['await new Promise((resolve) => setTimeout(resolve, 50));\nexpect(before).toBe(after);', PAUSE],
  ['await pause(5_000);\nfor (const log of await readLogs()) {\n  expect(log).toBe("");\n}', PAUSE],
  ['// oxlint-disable-next-line house/no-clock\nawait pause(1);', REASON],
  ['expect(performance.now() - startedAt).toBeGreaterThan(950);'],
  ['await pause(50);\nawait change();\nexpect(before).toBe(after);'],
  ['// oxlint-disable-next-line house/no-clock -- nothing reports it\nawait pause(1);\nexpect(a).toBe(b);'],
];

test('finds limits of measured times, pauses before an expectation, and exceptions without a reason', () => {
  const directory = createTemporaryDirectory();
  const config = { jsPlugins: [path.join(ROOT, 'build/lint/house.js')], rules: { 'house/no-clock': 'error' } };
  writeFileSync(path.join(directory, '.oxlintrc.json'), JSON.stringify(config));
  for (const [index, [code]] of CASES.entries()) writeFileSync(path.join(directory, `${index}.test.ts`), code);
  const { stdout } = spawnSync(process.execPath, [OXLINT, '--format=unix'], { cwd: directory, encoding: 'utf8' });
  for (const [index, [code, message]] of CASES.entries()) {
    const found = stdout.split('\n').filter((line) => line.includes(`${index}.test.ts:`));
    const expected = message === undefined ? [] : [expect.stringContaining(message)];
    expect({ code, found }).toEqual({ code, found: expected });
  }
});
