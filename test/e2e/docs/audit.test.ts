import { expect, test } from 'vitest';

import type { Mode } from '../../../src/decision/settings.ts';
import type { KubeResponse } from '../control-plane/kube-client.ts';
import { auditedVerdicts, type AuditedOutcome } from '../support/audit-log.ts';
import { unique } from '../support/cluster.ts';
import { DocumentedPage } from '../support/documented-page.ts';
import { renderedName } from '../support/objects.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';
import { Shell } from '../support/shell.ts';

type Situation = 'in use' | 'held' | 'unverified' | 'overridden' | 'unused';

interface Expectation {
  readonly outcome: AuditedOutcome;
  readonly code: string;
  readonly cause?: string;
  readonly status: number;
}

interface AuditedDeletion extends Expectation {
  readonly name: string;
}

const DENIALS = new Map<Situation, { readonly code: string; readonly status: number }>([
  ['in use', { code: 'MCG_IN_USE', status: 403 }],
  ['held', { code: 'MCG_HELD', status: 403 }],
  ['unverified', { code: 'MCG_UNVERIFIED', status: 503 }],
]);

/** The table of docs/audit.md. */
function expectationOf(mode: Mode, situation: Situation): Expectation {
  if (situation === 'overridden') return { outcome: 'overridden', code: 'MCG_OVERRIDDEN', status: 200 };
  if (mode === 'Disabled') return { outcome: 'allowed', code: 'MCG_DISABLED', status: 200 };
  const denial = DENIALS.get(situation);
  if (denial === undefined) return { outcome: 'allowed', code: 'MCG_NOT_IN_USE', status: 200 };
  if (mode === 'Enforce') return { outcome: 'denied', ...denial };
  return { outcome: 'would-deny', code: 'MCG_WOULD_DENY', cause: denial.code, status: 200 };
}

const installed = await sharedInstalledCluster();
const { cluster } = installed;
const shell = await Shell.open(installed.controlPlane);
const page = new DocumentedPage('docs/audit.md');
const deletions: AuditedDeletion[] = [];

/** Creates a config for a situation. The caller sets the hold and removes the rights. */
async function createConfig(situation: Situation): Promise<string> {
  const isOverridden = situation === 'overridden';
  const reason = { 'machineconfig-guard.io/allow-deletion': 'CHG-7' };
  const pool = unique('infra');
  const annotations = isOverridden ? reason : {};
  const name = await cluster.config({ name: renderedName(pool), annotations });
  if (isOverridden || situation === 'in use') await cluster.node({ currentConfig: name });
  // The pool has just been created without the config.
  if (situation === 'held') await cluster.pool({ name: pool, spec: await cluster.config() });
  return name;
}

async function expectAudited(mode: Mode, situation: Situation): Promise<KubeResponse> {
  const name = await createConfig(situation);
  const response = await cluster.delete(name);
  const { status } = response;
  const audited = Object.entries(auditedVerdicts(await cluster.auditEvent(response)));
  const found = audited.map(([outcome, { code, cause }]) => ({ outcome, code, cause, status }));
  const expectation = expectationOf(mode, situation);
  expect(found).toEqual([expectation]);
  expect(await cluster.exists(name)).toBe(status !== 200);
  deletions.push({ name, ...expectation });
  return response;
}

// The last mode is the one that other tests expect.
test.each(['Warn', 'Audit', 'Disabled', 'Enforce'] as const)('audits in the mode %s', async (mode) => {
  await installed.setSettings({ mode, holdSuperseded: '0s' });
  await cluster.node();

  const { warnings } = await expectAudited(mode, 'in use');
  expect(warnings.length > 0).toBe(mode === 'Warn');
  await expectAudited(mode, 'overridden');
  await expectAudited(mode, 'unused');
  await installed.setSettings({ mode, holdSuperseded: '1h' });
  await expectAudited(mode, 'held');
  await installed.setSettings({ mode, holdSuperseded: '0s' });
  await installed.withoutRights(() => expectAudited(mode, 'unverified'));
});

/** Runs the command below a heading of docs/audit.md and returns its lines. */
async function query(heading: string): Promise<readonly string[]> {
  const [{ stdout }] = await page.run(shell, { heading });
  return stdout.trimEnd().split('\n');
}

test('docs/audit.md reads the audit log', async () => {
  expect(await query('Get it')).toEqual(['']);
});

test('docs/audit.md finds the denied deletions with time and user', async () => {
  const lines = (await query('Denied deletions')).map((line): unknown => JSON.parse(line));
  const time: unknown = expect.stringMatching(/^20\d\d-/);
  for (const { name, code } of deletions.filter(({ outcome }) => outcome === 'denied')) {
    const decision: unknown = expect.objectContaining({ name, code });
    expect(lines).toContainEqual(expect.objectContaining({ time, user: 'admin', decision }));
  }
});

test('docs/audit.md finds the overridden deletions with their reasons', async () => {
  const lines = await query('Who overrode the guard, and with which reason');
  const found = lines.map((line) => line.split(' ').slice(2));
  const overridden = deletions.filter(({ outcome }) => outcome === 'overridden');
  expect(overridden).toHaveLength(4);
  for (const { name } of overridden) expect(found).toContainEqual([name, 'CHG-7']);
});

test('docs/audit.md finds the deletions that Enforce would have denied', async () => {
  const lines = await query('Deletions that Enforce would deny');
  const found = lines.map((line) => line.trim().split(/\s+/).slice(2));
  const wouldDeny = deletions.filter(({ outcome }) => outcome === 'would-deny');
  expect(wouldDeny).toHaveLength(6);
  for (const { cause, name } of wouldDeny) expect(found).toContainEqual([cause, name]);
});

test('docs/audit.md finds the deleted configs, and no others', async () => {
  const found = (await query('Deleted configs')).map((line) => line.split(' ').slice(2));
  for (const { name, code, status } of deletions) {
    if (status === 200) expect(found).toContainEqual([name, code]);
    else expect(found.flat()).not.toContain(name);
  }
});

test('docs/audit.md finds no unsafe deletion in this log, and all its commands were run', async () => {
  expect(await query('Unsafe deletions')).toEqual(['']);
  expect(page.remaining).toEqual([]);
});
