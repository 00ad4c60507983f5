import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { groupBy } from '../../../src/common/group-by.ts';
import { debianProgram } from '../support/programs.ts';
import { runProcess } from '../support/process.ts';
import { ALERTS } from './alerting-rules.ts';

/** The checker of rules in Debian's package of Prometheus. */
const { file: promtool } = await debianProgram('promtool', ['prometheus']);
const directory = await mkdtemp(join(tmpdir(), 'mcg-alerts-'));
/** Each is a story of promtool, whose series have an interval. */
const { tests } = parse(await readFile(join(import.meta.dirname, 'alerts.yaml'), 'utf8')) as {
  readonly tests: readonly { readonly interval: string }[];
};

afterAll(() => rm(directory, { recursive: true }));

async function runPromtool(command: string, files: readonly string[], content: readonly object[]) {
  await writeFile(join(directory, 'rules.yaml'), stringify({ groups: [{ name: 'all', rules: content }] }));
  return runProcess(promtool, [command, 'rules', ...files], { cwd: directory });
}

test('Prometheus accepts every alert with its texts', async () => {
  const { stdout } = await runPromtool('check', ['rules.yaml'], ALERTS);
  expect(stdout).toContain(`SUCCESS: ${ALERTS.length} rules found`);
});

test('every alert fires in the cases of alerts.yaml that expect it, and in no other', async () => {
  // The texts are for people. The cases compare labels only.
  const bare = ALERTS.map((rule) => ({ ...rule, annotations: undefined }));
  // A series without new values needs no evaluation in between.
  const files = [...groupBy(tests, ({ interval }) => interval)].map(async ([interval, group]) => {
    const file = `alerts-${interval}.yaml`;
    const content = { rule_files: ['rules.yaml'], evaluation_interval: interval, tests: group };
    await writeFile(join(directory, file), stringify(content));
    return file;
  });
  const result = await runPromtool('test', await Promise.all(files), bare);
  expect(result).toMatchObject({ exitCode: 0, stdout: expect.not.stringContaining('FAILED') });
  expect(result.stdout.match(/SUCCESS/g)).toHaveLength(files.length);
});
