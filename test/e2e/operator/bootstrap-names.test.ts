import { expect, test } from 'vitest';

import { runProgram } from '../../cli/run-program.ts';
import { DIGEST_MIRRORS, renderBootstrap, TAG_MIRRORS, writeManifests } from './bootstrap-host.ts';
import { OperatorCluster } from './operator-cluster.ts';

test('check --manifests reports what only the bootstrap host renders, and --split keeps its names', async () => {
  const operator = await OperatorCluster.shared();
  const { binaries, installed } = operator;
  const { directory } = installed.controlPlane;
  // A directory for the installer in which one file has two documents, and what reaches the cluster of it.
  const manifests = await writeManifests(directory, { 'mirrors.yaml': [DIGEST_MIRRORS, TAG_MIRRORS] });
  const applied = await writeManifests(directory, { 'mirrors.yaml': [DIGEST_MIRRORS] });
  const { names } = await renderBootstrap(binaries, manifests);
  const { names: namesInCluster } = await renderBootstrap(binaries, applied);
  expect(namesInCluster).toContain(await operator.awaitRendered('worker'));
  expect(names).toHaveLength(2);
  expect(names.filter((name) => namesInCluster.includes(name))).toEqual([]);

  const found = await runProgram(['check', '--manifests', manifests]);
  const split = await runProgram(['check', '--manifests', manifests, '--split', `${manifests}-split`]);

  expect(found).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('MultipleDocuments') as string });
  expect(split.exitCode).toBe(0);
  expect((await renderBootstrap(binaries, `${manifests}-split`)).names).toEqual(names);
});
