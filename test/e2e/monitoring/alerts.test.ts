import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { debianProgram } from '../support/programs.ts';
import { runProcess } from '../support/process.ts';
import { ALERTS } from './alerting-rules.ts';

/** The checker of rules in Debian's package of Prometheus. */
const { file: promtool } = await debianProgram('promtool', ['prometheus']);
const directory = await mkdtemp(join(tmpdir(), 'mcg-alerts-'));
await copyFile(join(import.meta.dirname, 'alerts.yaml'), join(directory, 'alerts.yaml'));

afterAll(() => rm(directory, { recursive: true }));

async function runPromtool(command: string, file: string, content: readonly object[]) {
  await writeFile(join(directory, 'rules.yaml'), stringify({ groups: [{ name: 'all', rules: content }] }));
  return runProcess(promtool, [command, 'rules', file], { cwd: directory });
}

test('Prometheus accepts every alert with its texts', async () => {
  const { stdout } = await runPromtool('check', 'rules.yaml', ALERTS);
  expect(stdout).toContain(`SUCCESS: ${ALERTS.length} rules found`);
});

test('every alert fires in the cases of alerts.yaml that expect it, and in no other', async () => {
  // The texts are for people. The cases compare labels only.
  const bare = ALERTS.map((rule) => ({ ...rule, annotations: undefined }));
  const result = await runPromtool('test', 'alerts.yaml', bare);
  expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('SUCCESS') });
});
