import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readClusterSnapshot } from '../../../../src/client/cluster-reader.ts';
import { diagnose } from '../../../../src/diagnosis/diagnose.ts';
import { kubectlOk } from '../../support/kubectl.ts';
import { MCO, PATHS } from '../../support/objects.ts';
import { IS_LONG } from '../../support/runner.ts';
import { OperatorCluster } from '../operator-cluster.ts';
import { openFollower } from './follow-check.ts';
import { type Build, ImageBuilder } from './image-builder.ts';
import { IMAGE_MODE_OBSTACLE } from './scenarios.ts';

const operator = await OperatorCluster.shared();
const { admin, installed } = operator;
const { cluster, controlPlane } = installed;
const api = controlPlane.connectApi();
const builder = new ImageBuilder(operator);
const follower = await openFollower(controlPlane);

type Machine = Awaited<ReturnType<typeof operator.boot>>;

afterAll(async () => {
  await operator.removeMachines();
  api.close();
});

/**
 * What `check` says about a pool. A question mark follows the code of a problem that can end by itself.
 * @param minutes after which it is asked, if nothing changes
 */
async function check(pool: string, minutes = 0) {
  const selector = `node-role.kubernetes.io/${pool}`;
  const snapshot = await readClusterSnapshot(api, selector, AbortSignal.timeout(60_000));
  const { problems, repairs } = diagnose(snapshot, { selector, now: new Date(Date.now() + minutes * 60_000) });
  return {
    codes: problems.map(({ code, recoverable }) => code + (recoverable ? '?' : '')),
    evidence: problems.map(({ evidence }) => evidence),
    commands: repairs.map(({ command }) => command?.words.join(' ')),
  };
}

const FINE = { codes: [], evidence: [], commands: [] };
const rebuild = (pool: string) => `oc annotate machineosconfig ${pool} --overwrite ${MCO}/rebuild=`;

function runCommand(command = ''): Promise<unknown> {
  return kubectlOk(controlPlane, command.split(' ').slice(1));
}

/** Boots a machine in a pool of its own, and puts the pool into image mode. */
async function bootPool(pool: string) {
  const booted = await operator.bootPool(pool);
  await builder.enable(pool);
  return booted;
}

/** Waits until the machine of a pool runs the image of a build, and `check` is fine. */
async function awaitImage(pool: string, machine: Machine, build: Build): Promise<void> {
  await operator.awaitUpdated(pool, 1);
  expect(await machine.annotations()).toMatchObject({
    currentConfig: build.spec.machineConfig.name,
    currentImage: build.status?.digestedImagePushSpec,
    state: 'Done',
  });
  expect(await check(pool)).toEqual(FINE);
}

/** Boots a machine with a first image. */
async function bootImage(pool: string) {
  const { config, machine } = await bootPool(pool);
  const build = await builder.succeed(await builder.awaitBuild(config, 'Building'));
  await awaitImage(pool, machine, build);
  return { machine, build };
}

/** Changes the kernel arguments of a pool, which need another image. Returns the name of the config. */
async function changeArgument(pool: string, argument: string): Promise<string> {
  const previous = await operator.awaitRendered(pool);
  await operator.applySource(pool, `50-${pool}`, { kernelArguments: [argument] });
  return operator.awaitRendered(pool, previous);
}

describe.skipIf(IMAGE_MODE_OBSTACLE !== undefined)('the real machine-os-builder, and the advice of check', () => {
  beforeAll(() => builder.start());
  afterAll(() => builder.remove());

  describe.concurrent('while it runs', () => {
    test('the first build fails: no condition of the pool says so, check does, and its command ends it', async () => {
      const pool = 'image-first';
      const { config, machine } = await bootPool(pool);
      const failed = await builder.fail(await builder.awaitBuild(config, 'Building'));

      const { status } = await operator.awaitPool(pool, 'read', () => true);
      const conditions = status?.conditions?.filter((condition) => condition.status === 'True') ?? [];
      expect(conditions.map(({ type }) => type)).toEqual(['Updating']);
      expect(await check(pool)).toEqual({
        codes: ['BuildFailed'],
        evidence: ['Build Failed'],
        commands: [rebuild(pool)],
      });
      expect(await follower.follow(pool, expect.unreachable)).toEqual([rebuild(pool)]);
      await awaitImage(pool, machine, await builder.succeed(await builder.awaitBuild(config, 'Building', failed)));
    });

    if (!IS_LONG) return;

    test('the job of a build is deleted: the build never ends, and the command of check ends it', async () => {
      const pool = 'image-job';
      const { machine } = await bootImage(pool);
      const config = await changeArgument(pool, 'job=1');
      const build = await builder.awaitBuild(config, 'Building');
      expect(await check(pool)).toEqual(FINE);

      await builder.deleteJob(build);

      await builder.awaitBuild(config, 'Interrupted');
      expect(await check(pool)).toMatchObject({ codes: ['BuildFailed'], evidence: ['Build Interrupted'] });
      expect(await follower.follow(pool, expect.unreachable)).toEqual([rebuild(pool)]);
      await awaitImage(pool, machine, await builder.succeed(await builder.awaitBuild(config, 'Building', build)));
    });

    test('a build is deleted: the operator starts another one', async () => {
      const pool = 'image-gone';
      const { machine } = await bootImage(pool);
      const config = await changeArgument(pool, 'gone=1');
      const build = await builder.awaitBuild(config, 'Building');

      await builder.delete(build);

      const next = await builder.awaitBuild(config, 'Building', build);
      expect(next.metadata.name).toBe(build.metadata.name);
      await awaitImage(pool, machine, await builder.succeed(next));
    });

    test('the annotation names the build of an old config: nothing builds until the command of check', async () => {
      const pool = 'image-stale';
      const { machine, build: old } = await bootImage(pool);
      const config = await changeArgument(pool, 'stale=1');
      const build = await builder.awaitBuild(config, 'Building');
      await builder.awaitCurrent(pool, build);
      await builder.annotate(pool, old);

      await builder.delete(build);
      // The operator looks at a pool when one of its nodes changes.
      await machine.heartbeat();

      await operator.awaitPool(pool, 'waiting', ({ status }) => {
        return JSON.stringify(status).includes('Pool is waiting for a new OS image build to start');
      });
      expect(await check(pool)).toEqual(FINE);
      const { codes, commands } = await check(pool, 11);
      expect(codes).toEqual(['BuildGone']);
      expect(commands).toEqual([`oc annotate machineosconfig ${pool} ${MCO}/current-machine-os-build-`]);
      await runCommand(commands[0]);
      await awaitImage(pool, machine, await builder.succeed(await builder.awaitBuild(config, 'Building', build)));
    });
  });

  if (!IS_LONG) return;

  test('only an abandoned build names a config: the guard denies its deletion, and check ends the build', async () => {
    const pool = 'image-abandoned';
    const { machine } = await bootImage(pool);
    const old = await changeArgument(pool, 'abandoned=1');
    const build = await builder.awaitBuild(old, 'Building');
    const { name } = build.metadata;
    await builder.stop();
    const config = await changeArgument(pool, 'abandoned=2');

    await cluster.expectDenied(old, [{ kind: 'MachineOSBuild', name, field: 'machineConfig' }]);
    const annotations = { 'machineconfig-guard.io/allow-deletion': 'CHG-7' };
    await admin.patch(`${PATHS.configs}/${old}`, { metadata: { annotations } });
    expect((await cluster.delete(old)).status).toBe(200);

    const { codes, commands } = await check(pool);
    expect([codes, commands]).toEqual([['ConfigMissing'], [`oc delete machineosbuild ${name}`]]);
    await runCommand(commands[0]);
    await builder.start();
    await awaitImage(pool, machine, await builder.succeed(await builder.awaitBuild(config, 'Building')));
  });
});
