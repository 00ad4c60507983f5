import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const OXLINT = path.join(ROOT, 'node_modules', 'oxlint', 'bin', 'oxlint');
const LIMIT = 'No test limits a measured time.';
const PAUSE = 'Wait for an event instead of a time before this expectation.';
const REASON = 'Give the reason for the exception after';

function lint(code: string): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'mcg-lint-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const config = {
    jsPlugins: [path.join(ROOT, 'build/lint/house.js')],
    rules: { 'house/no-clock': 'error' },
  };
  writeFileSync(path.join(directory, '.oxlintrc.json'), JSON.stringify(config));
  writeFileSync(path.join(directory, 'a.test.ts'), code);
  return spawnSync(process.execPath, [OXLINT, 'a.test.ts'], { cwd: directory, encoding: 'utf8' }).stdout;
}

// From tests of this repository before the rule existed.
test.each([
  ['expect(performance.now() - startedAt).toBeLessThan(2_400);', LIMIT],
  ['const seconds = (Date.now() - startedAt) / 1_000;\nexpect(seconds).toBeLessThanOrEqual(5);', LIMIT],
  ['await new Promise((resolve) => setTimeout(resolve, 50));\nexpect(before).toBe(after);', PAUSE],
  ['test("a", async () => {\n  await pause(1_500);\n  expect(await readCount()).toBe("0");\n});', PAUSE],
  ['// oxlint-disable-next-line house/no-clock\nawait pause(1);', REASON],
])('reports %j', (code, message) => {
  expect(lint(code)).toContain(message);
});

test.each([
  'expect(performance.now() - startedAt).toBeGreaterThan(950);',
  'await pause(50);\nawait change();\nexpect(before).toBe(after);',
  '// oxlint-disable-next-line house/no-clock -- nothing reports it\nawait pause(1);\nexpect(a).toBe(b);',
])('accepts %j', (code) => {
  expect(lint(code)).toContain('Found 0 warnings and 0 errors.');
});
