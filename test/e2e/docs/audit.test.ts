import { expect, test } from 'vitest';

import { DocumentedPage } from '../support/documented-page.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { Shell } from '../support/shell.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;
const shell = await Shell.open(installed.controlPlane);

/** Deletes a config that a node names. */
async function deleteUsed(annotations = {}): Promise<string> {
  const name = await cluster.config({ annotations });
  await cluster.node({ currentConfig: name });
  await cluster.auditEvent(await cluster.delete(name));
  return name;
}

test('the commands of docs/audit.md find each kind of answer', async () => {
  const page = new DocumentedPage('docs/audit.md');
  const query = async (heading: string) => (await page.run(shell, { heading }))[0].stdout;
  await installed.setSettings({ mode: 'Audit', holdSuperseded: '0s' });
  const wouldDeny = await deleteUsed();
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '0s' });
  const denied = await deleteUsed();
  const overridden = await deleteUsed({ 'machineconfig-guard.io/allow-deletion': 'CHG-7' });

  expect(await query('Get it')).toBe('');
  const denials = (await query('Denied deletions')).trimEnd().split('\n');
  const decision: unknown = expect.objectContaining({ name: denied, code: 'MCG_IN_USE' });
  expect(denials.map((line): unknown => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ time: expect.stringMatching(/^20\d\d-/) as string, user: 'admin', decision }),
  );
  expect(await query('Who overrode the guard, and with which reason')).toMatch(`${overridden} CHG-7`);
  expect(await query('Deletions that Enforce would deny')).toMatch(` MCG_IN_USE ${wouldDeny}`);
  const deleted = await query('Deleted configs');
  expect(deleted).toMatch(`${wouldDeny} MCG_WOULD_DENY`);
  expect(deleted).toMatch(`${overridden} MCG_OVERRIDDEN`);
  expect(deleted).not.toContain(denied);
  expect(await query('Unsafe deletions')).toBe('');
  expect(page.remaining).toEqual([]);
});
