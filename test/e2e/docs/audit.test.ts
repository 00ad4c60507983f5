import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DocumentedPage } from '../support/documented-page.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { openShell } from '../support/shell.ts';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;

test('the commands of docs/audit.md find each kind of answer', async () => {
  const page = new DocumentedPage('docs/audit.md');
  const shell = await openShell(controlPlane);
  const oc = join(shell.home, '.local/bin/oc');
  await rm(oc);
  await writeFile(oc, `#!/bin/sh\nsed 's/^/master-0 /' ${controlPlane.apiServer.auditLog}\n`, { mode: 0o755 });
  const names: string[] = [];
  for (const [mode, annotations] of [
    ['Audit', {}],
    ['Enforce', {}],
    ['Enforce', { 'machineconfig-guard.io/allow-deletion': 'CHG-7' }],
  ] as const) {
    await installed.setSettings({ mode, holdSuperseded: '0s' });
    const name = await cluster.config({ annotations });
    await cluster.node({ currentConfig: name });
    await cluster.auditEvent(await cluster.delete(name));
    names.push(name);
  }
  const tried = await cluster.config();
  await cluster.auditEvent(await cluster.dryRun(tried));
  names.push(tried);
  const answers = (await page.run(shell)).map(({ stdout }) =>
    names.map((name) => stdout.split('\n').find((line) => line.includes(name)) ?? 'none'),
  );
  const [none, match] = ['none', (text: string): unknown => expect.stringMatching(text)];
  expect(answers).toEqual([
    [none, none, none, none],
    [none, match('"time":"2.*"user":"admin".*"MCG_IN_USE"'), none, none],
    [none, none, match('^2.*Z admin rendered-.* CHG-7$'), none],
    [match(' admin MCG_IN_USE '), none, none, none],
    [match('^2.*Z admin rendered-.* MCG_WOULD_DENY$'), none, match(' MCG_OVERRIDDEN$'), none],
    [none, none, none, none],
  ]);
  expect(page.remaining).toEqual([]);
});
