import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { ControlPlane } from '../control-plane/control-plane.ts';
import { machineConfig, renderedName } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { incidentB } from './incidents.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PROGRAM = join(ROOT, 'dist', 'machineconfig-guard.cjs');
const PAGE = readFileSync(join(ROOT, 'docs/inspect.md'), 'utf8');
/** Behind a command: how it is meant to end, if not with 0. */
const EXIT_CODE = /\s+# exit code (?<code>\d)$/;

let controlPlane: ControlPlane;
let env: Record<string, string>;

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  const { admin, kubeconfig } = controlPlane.apiServer;
  await incidentB(admin);
  for (let count = 0; count < 2; count += 1) await admin.create(PATHS.configs, machineConfig({ name: renderedName() }));
  const home = join(controlPlane.directory, 'home');
  const bin = join(home, '.local', 'bin');
  await mkdir(bin, { recursive: true });
  await symlink(PROGRAM, join(bin, 'machineconfig-guard'));
  // Whatever the page does with oc, kubectl can do too.
  await symlink(controlPlane.kubectl, join(bin, 'oc'));
  const path = [bin, dirname(controlPlane.kubectl), process.env['PATH']].join(delimiter);
  env = { PATH: path, HOME: home, KUBECONFIG: kubeconfig };
});

afterAll(() => controlPlane.stop());

test('every command of docs/inspect.md, in its order, on the cluster that the page shows', () => {
  const commands = [...PAGE.matchAll(/^```sh\n(?<block>[\s\S]*?)^```$/gm)].flatMap(({ groups }) =>
    (groups?.['block'] ?? '').trimEnd().split('\n'),
  );
  expect(commands.length).toBeGreaterThan(6);
  for (const line of commands) {
    const expected = Number(EXIT_CODE.exec(line)?.groups?.['code'] ?? 0);
    const { status, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', line], { cwd: ROOT, env, encoding: 'utf8' });
    expect([line, status, stderr.replace(/^This is true at this moment.*\n/, '')]).toEqual([line, expected, '']);
  }
});

test('the keys that the page lists are those that the commands print', () => {
  const outputs = [
    ['check', '--output', 'json'],
    ['who-uses', 'rendered-worker-25a1be6c1264c64551ae911d23717173', '--output', 'json'],
    ['who-uses', '--unused', '--output', 'json'],
  ].map((args) => spawnSync(PROGRAM, args, { env, encoding: 'utf8' }).stdout);
  const keys = new Set(outputs.flatMap((output) => keysOf(JSON.parse(output))));
  expect(keys.size).toBeGreaterThan(30);
  const listed = new Set(Array.from(PAGE.matchAll(/`(?<key>\w+)(?:\[\])?`/g), ({ groups }) => groups?.['key']));
  expect([...keys].filter((key) => !listed.has(key))).toEqual([]);
});

function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}
