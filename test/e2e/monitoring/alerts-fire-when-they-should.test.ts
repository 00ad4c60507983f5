import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';

import { prometheusTools } from '../support/prometheus.ts';
import { alertingRules, RULE_FILES } from './alerting-rules.ts';

interface AlertCases {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly { readonly exp_labels: object; exp_annotations?: object }[];
    }[];
  }[];
}

const CASES = fileURLToPath(new URL('alerts.yaml', import.meta.url));
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mcg-alerts-'));
});

afterAll(() => rm(directory, { recursive: true }));

/** Runs promtool over the cases. Summaries and descriptions are for people, so only labels are compared. */
async function promtool(rules: string): Promise<string> {
  const { promtool: command } = await prometheusTools();
  await writeFile(join(directory, 'rules.yaml'), rules);
  await writeFile(join(directory, 'alerts.yaml'), await readFile(CASES, 'utf8'));
  const checked = await promisify(execFile)(command, ['check', 'rules', 'rules.yaml'], { cwd: directory });
  const tested = await promisify(execFile)(command, ['test', 'rules', 'alerts.yaml'], { cwd: directory });
  return checked.stdout + tested.stdout;
}

/** All groups of the manifests in one file, without the annotations. */
async function bareRules(): Promise<string> {
  const groups = await Promise.all(RULE_FILES.map((file) => alertingRules(file)));
  const bare = groups.flat().map(({ alert, expr, for: duration, labels }) => ({ alert, expr, for: duration, labels }));
  return stringify({ groups: [{ name: 'all', rules: bare }] });
}

test('each alert fires where it has to, and where it must not it does not', async () => {
  expect(await promtool(await bareRules())).toContain('SUCCESS');
});

test('the cases notice a rule that is wrong', async () => {
  const wrong = (await bareRules()).replace(
    'max(last_over_time(mcguard_dangling_references[5m])) > 0',
    'max(last_over_time(mcguard_dangling_references[5m])) > 5',
  );
  await expect(promtool(wrong)).rejects.toThrow('MachineConfigGuardDanglingReference');
});

test('what alerts say to people can be filled in', async () => {
  const { promtool: command } = await prometheusTools();
  const rules = (await Promise.all(RULE_FILES.map((file) => alertingRules(file)))).flat();
  await writeFile(join(directory, 'complete.yaml'), stringify({ groups: [{ name: 'all', rules }] }));
  const { stdout } = await promisify(execFile)(command, ['check', 'rules', 'complete.yaml'], { cwd: directory });
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});

test('each alert has a case of both kinds', async () => {
  const { tests } = parse(await readFile(CASES, 'utf8')) as AlertCases;
  const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
  for (const file of RULE_FILES) {
    for (const { alert } of await alertingRules(file)) {
      const own = cases.filter(({ alertname }) => alertname === alert);
      const fires = new Set(own.map(({ exp_alerts }) => exp_alerts.length > 0));
      expect({ alert, fires }).toEqual({ alert, fires: new Set([true, false]) });
    }
  }
});
