import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { hasMatchingName } from '../../../../src/rendered-config/config-hash.ts';
import { parseRenderedConfig, toFileOrigin } from '../../../../src/rendered-config/rendered-config.ts';
import { runProgram } from '../../../cli/run-program.ts';
import { MCO } from '../../support/objects.ts';
import { fetchBootstrapConfig, renderBootstrap, writeManifests } from '../bootstrap-host.ts';
import { SERVED_FILE } from '../machine-config-server.ts';
import { OperatorCluster } from '../operator-cluster.ts';
import { FIRST_BOOT_FILE, UPDATE_FILE } from './disk.ts';
import { readIgnitionFile } from './ignition.ts';
import { type FirstBoot, Lab } from './lab.ts';
import { UNCHANGED_BOOT_OBSTACLE } from './scenarios.ts';

const operator = await OperatorCluster.shared();
const { binaries, installed } = operator;
const { controlPlane } = installed;
const api = controlPlane.connectApi();

afterAll(async () => {
  await operator.removeMachines();
  api.close();
});

/** The outcome of a dry run of `restore`, the code of a rejection, or the message. */
async function planRestore(config: string, source: string): Promise<string> {
  const flags = ['--output=json', `--kubeconfig=${controlPlane.apiServer.kubeconfig}`];
  const { stdout, stderr } = await runProgram(['restore', config, '--from', source, ...flags]);
  if (stdout === '') return stderr;
  const report = JSON.parse(stdout) as {
    configs: readonly { readonly outcome: string; readonly rejection: { readonly code: string } | null }[];
  };
  const [own] = report.configs;
  return own?.rejection?.code ?? own?.outcome ?? '';
}

describe.concurrent('what a first boot leaves on the disk of a machine whose config is not in the API', () => {
  const cases: readonly { readonly firstBoot: FirstBoot; readonly plans: Readonly<Record<string, string>> }[] = [
    {
      firstBoot: 'kernel arguments',
      plans: {
        [SERVED_FILE]: 'planned',
        [UPDATE_FILE]: 'NoIgnitionContent',
        [`${FIRST_BOOT_FILE}.bak`]: 'NoIgnitionContent',
        [FIRST_BOOT_FILE]: 'no file',
      },
    },
    {
      firstBoot: 'nothing',
      plans: {
        [SERVED_FILE]: 'planned',
        [UPDATE_FILE]: 'no file',
        [`${FIRST_BOOT_FILE}.bak`]: 'no file',
        [FIRST_BOOT_FILE]: 'no file',
      },
    },
  ];
  for (const { firstBoot, plans } of cases)
    test(`${firstBoot} changed: restore accepts the whole copy, from a file and from the node`, async ({ skip }) => {
      if (firstBoot === 'nothing' && UNCHANGED_BOOT_OBSTACLE !== undefined) skip(UNCHANGED_BOOT_OBSTACLE);
      const pool = `copies-${firstBoot.replace(' ', '-')}`;
      const lab = await Lab.start(operator, api, { pool, firstBoot, isXMissing: true });
      await operator.awaitPool(pool, 'a Degraded machine', ({ status }) => status?.degradedMachineCount === 1);
      const config = lab.nameOf('X');
      const node = `node/${lab.node}`;

      const found: Record<string, string> = {};
      for (const file of Object.keys(plans)) {
        const text = lab.machine.read(file);
        const copy = join(controlPlane.directory, `${pool}.json`);
        writeFileSync(copy, text ?? '');
        found[file] = text === undefined ? 'no file' : await planRestore(config, copy);
      }
      expect(found).toEqual(plans);
      expect(await planRestore(config, node)).toBe('planned');

      rmSync(join(lab.machine.disk, SERVED_FILE));
      const isEmpty = plans[UPDATE_FILE] === 'no file';
      const rest = isEmpty ? expect.stringContaining(`${SERVED_FILE}: cat: `) : 'NoIgnitionContent';
      expect(await planRestore(config, node)).toEqual(rest);
      await lab.stop();
    });
});

// A boot image asks for the newest spec that its Ignition knows, so that of an install asks for 3.4 or more.
test.each([
  ['2.2.0', [], true],
  ['3.2.0', [], true],
  ['3.4.0', [], true],
  ['3.2.0', ['a=1'], false],
  ['3.3.0', ['a=1'], true],
  ['3.4.0', ['a=1'], true],
])(
  'the name of what the bootstrap host serves for spec %s, with %j as Ignition kernel arguments, matches: %j',
  async (version, shouldExist, isMatching) => {
    const kernelArguments = { shouldExist };
    const source = {
      apiVersion: `${MCO}/v1`,
      kind: 'MachineConfig',
      metadata: { name: '99-master-a', labels: { [`${MCO}/role`]: 'master' } },
      spec: { config: { ignition: { version: '3.4.0' }, ...(shouldExist.length > 0 && { kernelArguments }) } },
    };
    const manifests = await writeManifests(controlPlane.directory, { 'a.yaml': [source] });
    const { directory } = await renderBootstrap(binaries, manifests);

    const served = await fetchBootstrapConfig(controlPlane, binaries, directory, version);

    const config = parseRenderedConfig(await readIgnitionFile(served, SERVED_FILE), toFileOrigin(SERVED_FILE));
    expect(hasMatchingName(config)).toBe(isMatching);
  },
);
