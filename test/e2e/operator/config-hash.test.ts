import { expect, test } from 'vitest';

import { computeRenderedName } from '../../../src/rendered-config/config-hash.ts';
import { SPECIAL_TEXTS } from '../../support/yaml-texts.ts';
import { PATHS } from '../support/paths.ts';
import { OperatorCluster } from './operator-cluster.ts';

/** The oldest release renders a kernel argument only once. */
const TEXTS = [...new Set(SPECIAL_TEXTS)];
const CONTENTS = { source: 'data:;base64,YQ==' };
const UNITS = ['', '\n', '[Unit]', '[Unit]\n\n\n', '# \u2028 \u0085 \uFEFF 😀', ' \t[Unit]'];
const SIZES = [1, 1_000_000, 2 ** 31 - 1];

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
  'ignition-2.2': ignition('2.2.0'),
  'ignition-3.0': ignition('3.0.0'),
  'ignition-3.1': ignition('3.1.0'),
  'ignition-3.2': ignition('3.2.0'),
  'ignition-3.3': ignition('3.3.0'),
  'ignition-3.4': ignition('3.4.0'),
  'kernel-arguments': { kernelArguments: TEXTS },
  'kernel-type': { kernelType: 'realtime', fips: true, extensions: ['usbguard'] },
  images: { osImageURL: 'quay.io/lab/os:1', baseOSExtensionsContainerImage: '' },
  empty: { config: { ignition: { version: '3.4.0' } }, kernelArguments: [], extensions: [], fips: false },
  users: ignition('3.4.0', {
    passwd: { users: TEXTS.map((gecos, index) => ({ name: `user${index}`, gecos })) },
  }),
  units: ignition('3.4.0', {
    systemd: { units: UNITS.map((contents, index) => ({ name: `${index}.service`, contents })) },
  }),
  numbers: ignition('3.4.0', {
    storage: {
      disks: [
        {
          device: '/dev/sda',
          partitions: SIZES.map((sizeMiB, index) => ({ sizeMiB, number: index + 1 })),
        },
      ],
      files: [0, 1, 0o777].map((mode) => ({
        path: `/etc/${mode}`,
        mode,
        user: { id: 0 },
        contents: CONTENTS,
      })),
    },
  }),
};
const NAMES = Object.keys(SOURCES);

const operator = await OperatorCluster.shared();
const { admin } = operator;

/** Copies of a value, each with another first character in one of its texts. */
function* changeEachText(value: unknown): Generator {
  if (typeof value === 'string') yield (value.startsWith('x') ? 'y' : 'x') + value.slice(1);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    for (const changed of changeEachText(item)) {
      yield Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed };
    }
  }
}

test('computes the names that the operator gives to the configs that it renders', async () => {
  for (const name of NAMES) {
    await operator.applySource(name, name, SOURCES[name] ?? {});
    await operator.createPool(name, [name]);
  }
  const rendered = await Promise.all(NAMES.map((name) => operator.awaitRendered(name)));
  rendered.push(await operator.awaitRendered('worker'));
  const specs: object[] = [];
  for (const [index, name] of rendered.entries()) {
    const pool = NAMES[index] ?? 'worker';
    const { spec = {} } = (await admin.find(`${PATHS.configs}/${name}`)) ?? {};
    specs.push(spec);
    expect(computeRenderedName(pool, spec)).toBe(name);
    // The config of pool worker is large, and all its texts are usual ones.
    if (pool === 'worker') continue;
    for (const changed of changeEachText(spec)) expect(computeRenderedName(pool, changed as object)).not.toBe(name);
  }
  // The operator has changed no text.
  expect(specs[NAMES.indexOf('kernel-arguments')]).toMatchObject({ kernelArguments: TEXTS });
});
