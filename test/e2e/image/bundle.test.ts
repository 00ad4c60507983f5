import { chmodSync, copyFileSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { Child } from '../control-plane/child.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { ProcessReaper } from '../control-plane/process-reaper.ts';
import { isHealthy } from '../control-plane/until.ts';
import { certificateIn, serveArguments } from '../support/guard-process.ts';
import { findNode24 } from '../support/node-24.ts';
import { runProcess } from '../support/process.ts';
import { PROGRAM } from '../support/program.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

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

test('the bundle renders manifests without another file or an environment variable', async () => {
  expect((await runProcess(node, ['--version'])).stdout).toMatch(/^v24\./);
  const image = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
  const args = [program, 'render', '--out', join(directory, 'openshift'), '--image', image];

  const result = await runProcess(node, args, { cwd: folder, env: {} });

  expect(result).toMatchObject({ exitCode: 0, stderr: '' });
});

test('the bundle serves with the Node of the image, and stops with exit code 0', async () => {
  const [securePort = 0, healthPort = 0, metricsPort = 0] = await freePorts(3);
  const ports = { securePort, healthPort, metricsPort };
  const certificate = certificateIn(guarded.guard.certDir);
  const [, ...serve] = serveArguments({ kubeconfig: guarded.kubeconfig, certificate, ports });
  const args = [program, ...serve, '--shutdown-delay-duration=0s'];
  const logFile = join(directory, 'guard.log');
  const child = new Child({ command: node, args, logFile, reaper, env: {} });

  await child.waitUntil(() => isHealthy(`http://127.0.0.1:${healthPort}/readyz`), 20_000);

  expect(await child.stop()).toBe(0);
});
