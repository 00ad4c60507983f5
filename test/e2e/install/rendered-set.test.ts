import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFailed, test } from 'vitest';
import { readCrds } from '../control-plane/module-files.ts';
import { until } from '../control-plane/until.ts';
import { GUARD_IMAGE } from '../node/images.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { kubectl, kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/objects.ts';
import { runProgramOk } from '../support/programs.ts';

const installed = await sharedNodeCluster();
const { controlPlane, replicas: pods } = installed;

/**
 * Creates objects as OpenShift's bootstrap does (library-go, pkg/assets/create): it creates what does not
 * exist, never updates, and retries what failed.
 */
async function createAll(files: readonly string[]): Promise<void> {
  let failures: readonly string[] = [];
  const createMissing = async () => {
    const { stderr } = await kubectl(controlPlane, ['create', ...files.map((file) => `--filename=${file}`)]);
    failures = stderr.split('\n').filter((line) => line !== '' && !line.includes('AlreadyExists'));
    return failures.length === 0;
  };
  await until(() => `all objects. ${failures.join('\n')}`, createMissing);
}

test('the objects may exist before OpenShift does, in any order, and the guard protects then', async () => {
  const { openshiftProject, release } = controlPlane.binaries;
  const crds = (await readCrds(openshiftProject)).map(({ metadata }) => metadata.name);
  await kubectlOk(controlPlane, ['delete', 'customresourcedefinitions', ...crds]);
  onTestFailed(() => controlPlane.installProjects(openshiftProject).catch(() => undefined));
  const directory = join(controlPlane.directory, 'rendered');
  const flags = ['--image', GUARD_IMAGE, '--mode', 'Warn', '--hold', '1h'];
  await runProgramOk('render', '--out', directory, '--openshift-version', release.openshift, ...flags);
  const files = (await readdir(directory)).filter((name) => name.endsWith('.yaml')).sort();
  await createAll(files.toReversed().map((name) => join(directory, name)));
  await pods.awaitRollout();

  await controlPlane.installProjects(openshiftProject);

  const { cluster } = installed;
  const guard = await until('the MachineConfigGuard', () => cluster.admin.find(PATHS.guard));
  expect(guard.spec).toEqual({ mode: 'Warn', holdSuperseded: '1h' });
  await installed.awaitGuard();
  const used = await cluster.config();
  await cluster.pool({ spec: used });
  await cluster.node();
  expect((await cluster.delete(used)).status).toBe(403);
  expect((await cluster.delete(await cluster.config())).status).toBe(200);
});
