import { beforeAll, expect, test } from 'vitest';

import { runProgram } from '../../cli/run-program.ts';
import { DIGEST_MIRRORS, renderBootstrap, TAG_MIRRORS, writeManifests } from './bootstrap-host.ts';
import { OperatorCluster } from './operator-cluster.ts';

const operator = await OperatorCluster.shared();
const { binaries, installed } = operator;
const { directory } = installed.controlPlane;

/** A directory for the installer in which one file has two documents. */
let manifests: string;

beforeAll(async () => {
  manifests = await writeManifests(directory, { 'mirrors.yaml': [DIGEST_MIRRORS, TAG_MIRRORS] });
});

test('check --manifests reports documents that only the bootstrap host renders', async () => {
  const { names } = await renderBootstrap(binaries, manifests);
  const applied = await writeManifests(directory, { 'mirrors.yaml': [DIGEST_MIRRORS] });
  const { names: namesInCluster } = await renderBootstrap(binaries, applied);
  expect(namesInCluster).toContain(await operator.awaitRendered('worker'));
  expect(names).toHaveLength(2);
  expect(names.filter((name) => namesInCluster.includes(name))).toEqual([]);

  const { exitCode, stdout } = await runProgram(['check', '--manifests', manifests]);

  expect(exitCode).toBe(1);
  expect(stdout).toContain('MultipleDocuments');
});

test('check --manifests --split writes files from which the bootstrap host renders the same names', async () => {
  const split = `${manifests}-split`;

  const { exitCode } = await runProgram(['check', '--manifests', manifests, '--split', split]);

  expect(exitCode).toBe(0);
  const { names } = await renderBootstrap(binaries, manifests);
  expect((await renderBootstrap(binaries, split)).names).toEqual(names);
});
