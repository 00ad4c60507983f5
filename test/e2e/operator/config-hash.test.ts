import { expect, test } from 'vitest';

import { computeRenderedName } from '../../../src/rendered-config/config-hash.ts';
import { SPECIAL_TEXTS } from '../../support/yaml-texts.ts';
import { PATHS } from '../support/paths.ts';
import { OperatorCluster } from './operator-cluster.ts';

/** The oldest release renders a kernel argument only once. */
const TEXTS = [...new Set(SPECIAL_TEXTS)];
const CONTENTS = { source: 'data:;base64,YQ==' };
const UNITS = ['', '\n', '[Unit]', '[Unit]\n\n\n', '# 日本 😀\t', ' \t[Unit]'];
const IGNITION_VERSIONS = ['2.2.0', '3.0.0', '3.1.0', '3.2.0', '3.3.0', '3.4.0'];
const PARTITIONS = [1, 1_000_000, 2 ** 31 - 1].map((sizeMiB, index) => ({ sizeMiB, number: index + 1 }));
const FILES = [0, 1, 0o777].map((mode) => ({ path: `/etc/${mode}`, mode, user: { id: 0 }, contents: CONTENTS }));

/** An Ignition config with a file, a unit and a user, or with other sections. */
function ignition(version: string, sections: object = {}) {
  const passwd = { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-rsa AAAA', 'ssh-rsa BBBB'] }] };
  // Only Ignition 2 names the filesystem of a file.
  const filesystem = version.startsWith('2.') ? { filesystem: 'root' } : {};
  const storage = { files: [{ ...filesystem, path: '/etc/a', mode: 0o644, contents: CONTENTS }] };
  const systemd = { units: [{ name: 'a.service', enabled: true, contents: '[Service]\nExecStart=/a\n' }] };
  return { config: { ignition: { version }, passwd, storage, systemd, ...sections } };
}

/** Specs of source MachineConfigs by name. Each has a pool of its own. */
const SOURCES: Readonly<Record<string, object>> = {
  ...Object.fromEntries(IGNITION_VERSIONS.map((version) => [`ignition-${version}`, ignition(version)])),
  'kernel-arguments': { kernelArguments: TEXTS },
  'kernel-type': { kernelType: 'realtime', fips: true, extensions: ['usbguard'] },
  images: { osImageURL: 'quay.io/lab/os:1', baseOSExtensionsContainerImage: '' },
  empty: { config: { ignition: { version: '3.4.0' } }, kernelArguments: [], extensions: [], fips: false },
  users: ignition('3.4.0', { passwd: { users: TEXTS.map((gecos, index) => ({ name: `user${index}`, gecos })) } }),
  units: ignition('3.4.0', {
    systemd: { units: UNITS.map((contents, index) => ({ name: `${index}.service`, contents })) },
  }),
  numbers: ignition('3.4.0', {
    storage: { disks: [{ device: '/dev/sda', partitions: PARTITIONS }], files: FILES },
  }),
};

const operator = await OperatorCluster.shared();

test('computes the names that the operator gives to the configs that it renders', async () => {
  for (const [name, source] of Object.entries(SOURCES)) {
    await operator.applySource(name, name, source);
    await operator.installed.cluster.pool({ name, roles: [name] });
  }
  for (const pool of [...Object.keys(SOURCES), 'worker']) {
    const name = await operator.awaitRendered(pool);
    const { spec = {} } = (await operator.admin.find(`${PATHS.configs}/${name}`)) ?? {};
    expect(computeRenderedName(pool, spec)).toBe(name);
    // The operator has changed no text.
    if (pool === 'kernel-arguments') expect(spec).toMatchObject({ kernelArguments: TEXTS });
  }
});
