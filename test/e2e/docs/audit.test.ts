import { expect, test } from 'vitest';

import { auditedVerdicts } from '../support/audit-log.ts';
import { unique } from '../support/cluster.ts';
import { DocumentedPage } from '../support/documented-page.ts';
import { renderedName } from '../support/objects.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';
import { Shell } from '../support/shell.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;
const shell = await Shell.open(installed.controlPlane);
const page = new DocumentedPage('docs/audit.md');
const OVERRIDE = { 'machineconfig-guard.io/allow-deletion': 'CHG-7' };

/** Deletes a config. Returns its name and the key, the code and the cause in the audit log. */
async function deleteConfig(situation: 'in use' | 'held' | 'unused', annotations = {}) {
  const pool = unique('infra');
  const name = await cluster.config({ name: renderedName(pool), annotations });
  if (situation === 'in use') await cluster.node({ currentConfig: name });
  // The pool has just been created without the config.
  if (situation === 'held') await cluster.pool({ name: pool, spec: await cluster.config() });
  const audited = Object.entries(auditedVerdicts(await cluster.auditEvent(await cluster.delete(name))));
  return {
    name,
    answer: audited.map(([outcome, { code, cause = '' }]) => `${outcome} ${code} ${cause}`.trim()).join(),
  };
}

/** Runs the command below a heading of the page and returns its lines. */
async function query(heading: string): Promise<string> {
  const [{ stdout }] = await page.run(shell, { heading });
  return stdout;
}

test('the commands of docs/audit.md find each kind of answer', async () => {
  await cluster.node();
  await installed.setSettings({ mode: 'Audit', holdSuperseded: '0s' });
  const wouldDeny = await deleteConfig('in use');
  await installed.setSettings({ mode: 'Disabled', holdSuperseded: '0s' });
  const disabled = await deleteConfig('in use');
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '1h' });
  const held = await deleteConfig('held');
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '0s' });
  const denied = await deleteConfig('in use');
  const overridden = await deleteConfig('in use', OVERRIDE);
  const unused = await deleteConfig('unused');
  let unverified = unused;
  await installed.withoutRights(async () => {
    unverified = await deleteConfig('unused');
  });
  expect([wouldDeny, disabled, held, denied, overridden, unused, unverified].map(({ answer }) => answer)).toEqual([
    'would-deny MCG_WOULD_DENY MCG_IN_USE',
    'allowed MCG_DISABLED',
    'denied MCG_HELD',
    'denied MCG_IN_USE',
    'overridden MCG_OVERRIDDEN',
    'allowed MCG_NOT_IN_USE',
    'denied MCG_UNVERIFIED',
  ]);

  expect(await query('Get it')).toBe('');
  const denials = (await query('Denied deletions')).trimEnd().split('\n');
  const time: unknown = expect.stringMatching(/^20\d\d-/);
  const decision: unknown = expect.objectContaining({ name: denied.name, code: 'MCG_IN_USE' });
  expect(denials.map((line): unknown => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ time, user: 'admin', decision }),
  );
  expect(await query('Who overrode the guard, and with which reason')).toMatch(`${overridden.name} CHG-7`);
  expect(await query('Deletions that Enforce would deny')).toMatch(` MCG_IN_USE ${wouldDeny.name}`);
  const deleted = await query('Deleted configs');
  for (const { name, answer } of [wouldDeny, disabled, overridden, unused])
    expect(deleted).toMatch(`${name} ${answer.split(' ')[1]}`);
  for (const { name } of [held, denied, unverified]) expect(deleted).not.toContain(name);
  expect(await query('Unsafe deletions')).toBe('');
  expect(page.remaining).toEqual([]);
});
