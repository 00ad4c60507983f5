import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { runProgram } from '../../cli/run-program.ts';
import { createTemporaryDirectory, writeFiles } from '../../cli/temporary-directory.ts';
import { runOk } from '../support/process.ts';
import { log } from '../support/runner.ts';
import { findOperator, OPERATOR_VARIABLE, selectOperator } from './operator-binaries.ts';

const MCO = 'machineconfiguration.openshift.io';
const IMAGE = 'localhost/machine-config-operator:test';
/** For machines whose cgroups or limits the defaults of Debian do not fit. */
const ENGINE = `[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=1024:4096"]
`;
const canRunImages = ['podman', 'runc'].every((program) => spawnSync(program, ['--version']).status === 0);

const operator = await findOperator(selectOperator(OPERATOR_VARIABLE, process.env[OPERATOR_VARIABLE]), log);

/** An image with the files of the real one that the bootstrap needs. */
async function importImage(directory: string): Promise<void> {
  writeFiles(directory, {
    'containers.conf': ENGINE,
    'storage.conf': `[storage]\ndriver = "vfs"\ngraphroot = "${directory}/graph"\nrunroot = "${directory}/run"\n`,
    'root/tmp/.keep': '',
  });
  vi.stubEnv('CONTAINERS_CONF', join(directory, 'containers.conf'));
  vi.stubEnv('CONTAINERS_STORAGE_CONF', join(directory, 'storage.conf'));
  const program = 'machine-config-controller';
  cpSync(join(operator, program), join(directory, 'root/usr/bin', program));
  cpSync(join(operator, 'templates'), join(directory, 'root/etc/mcc/templates'), { recursive: true });
  await runOk('tar', ['-C', join(directory, 'root'), '-cf', join(directory, 'image.tar'), '.']);
  await runOk('podman', ['import', '--quiet', join(directory, 'image.tar'), IMAGE]);
}

function createConfig(role: string, spec: object): string {
  const metadata = { name: `99-${role}-a`, labels: { [`${MCO}/role`]: role } };
  return stringify({ apiVersion: `${MCO}/v1`, kind: 'MachineConfig', metadata, spec });
}

async function check(manifest: string, source: string) {
  const directory = createTemporaryDirectory();
  writeFiles(directory, { 'openshift/a.yaml': manifest });
  const args = ['check', 'manifests', directory, '--operator', source, '--output', 'json'];
  const { exitCode, stdout } = await runProgram(args);
  const { problems = [], renders = [] } = JSON.parse(stdout) as {
    problems?: readonly { code: string; message: string }[];
    renders?: readonly { pool: string; bootstrap: string; cluster: string }[];
  };
  const isSame = Object.fromEntries(renders.map(({ pool, bootstrap, cluster }) => [pool, bootstrap === cluster]));
  return { exitCode, problems: problems.map(({ code, message }) => `${code}: ${message}`), isSame, renders };
}

test('renders with an image as with its program: both sides, and the errors', async ({ skip }) => {
  skip(!canRunImages, 'An image needs the Debian packages podman and runc.');
  const storage = createTemporaryDirectory();
  await importImage(storage);
  const first = createConfig('worker', { kernelArguments: ['a'] });
  const second = `${first}---\n${createConfig('master', { kernelArguments: ['b'] })}`;
  const broken = createConfig('worker', { config: { ignition: { version: '3.6.0' } } });
  const [different, fails] = [await check(second, IMAGE), await check(broken, IMAGE)];

  expect(different).toMatchObject({ exitCode: 1, isSame: { master: false, worker: true } });
  expect(different.problems[0]).toMatch(/^RendersDiffer: .*: kernel argument b$/);
  expect(fails).toMatchObject({ exitCode: 1, renders: [] });
  expect(fails.problems[0]).toMatch(/^RenderFails: .*unknown version/);
  const program = join(operator, 'machine-config-controller');
  expect([await check(second, program), await check(broken, operator)]).toEqual([different, fails]);
  expect(await check(first, IMAGE)).toMatchObject({
    exitCode: 0,
    problems: [],
    isSame: { master: true, worker: true },
  });
  expect((await runOk('podman', ['ps', '--all', '--quiet'])).trim()).toBe('');
});
