import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { ControlPlane } from '../control-plane/control-plane.ts';
import { DocumentedPage } from '../support/documented-page.ts';
import { machineConfig, renderedName } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { Shell } from '../support/shell.ts';
import { incidentB } from './incidents.ts';

const PAGE = DocumentedPage.read('docs/inspect.md');
const TEXT = readFileSync(fileURLToPath(new URL('../../../docs/inspect.md', import.meta.url)), 'utf8');

let controlPlane: ControlPlane;
let shell: Shell;

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  const { admin } = controlPlane.apiServer;
  await incidentB(admin);
  for (let count = 0; count < 2; count += 1) await admin.create(PATHS.configs, machineConfig({ name: renderedName() }));
  shell = await Shell.open(controlPlane);
});

afterAll(() => controlPlane.stop());

test('every command of docs/inspect.md, in its order, on the cluster that the page shows', async () => {
  for (const { stderr } of await PAGE.type(shell)) {
    expect(stderr.replace(/^This is true at this moment.*\n/, '')).toBe('');
  }
  expect(PAGE.left).toEqual([]);
});

test('the gate before a reboot keeps the machine from it, and says why and what repairs it', async () => {
  const script = /^```bash\n(?<text>[\s\S]*?)^```$/m.exec(TEXT)?.groups?.['text'] ?? '';
  expect(script).toContain('systemctl reboot');
  const systemctl = join(shell.home, '.local', 'bin', 'systemctl');
  await writeFile(systemctl, '#!/bin/sh\necho rebooting\n');
  await chmod(systemctl, 0o755);

  const { exitCode, stdout, stderr } = await shell.type(`( ${script} )`);

  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/control1\.gw\.lo/);
  expect(stderr).toMatch(/^oc /m);
});

test('the keys that the page lists are those that the commands print', async () => {
  const keys = new Set<string>();
  for (const command of ['check', 'who-uses rendered-worker-25a1be6c1264c64551ae911d23717173', 'who-uses --unused']) {
    const { stdout } = await shell.type(`machineconfig-guard ${command} --output json`);
    for (const key of keysOf(JSON.parse(stdout))) keys.add(key);
  }
  expect(keys.size).toBeGreaterThan(30);
  const listed = new Set(Array.from(TEXT.matchAll(/`(?<key>\w+)(?:\[\])?`/g), ({ groups }) => groups?.['key']));
  expect([...keys].filter((key) => !listed.has(key))).toEqual([]);
});

function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}
