import { expect, test } from 'vitest';
import { diffSpecs } from '../../src/rendered-config/config-parts.ts';

const SPEC = {
  config: {
    ignition: { version: '3.5.0' },
    passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 a'] }], groups: [{ name: 'wheel' }] },
    storage: {
      directories: [{ path: '/etc/a' }],
      disks: [{ device: '/dev/vda', wipeTable: false }],
      files: [
        { path: '/etc/a', contents: { source: 'data:,a' }, mode: 420 },
        { path: '/etc/b', contents: { source: 'data:,b' } },
      ],
      links: [{ path: '/etc/c', target: '/etc/a' }],
    },
    systemd: { units: [{ name: 'a.service', contents: '[Unit]\n', dropins: [{ name: '10.conf', contents: 'a' }] }] },
  },
  extensions: ['usbguard'],
  fips: false,
  kernelArguments: ['a=1', 'b=2'],
  kernelType: 'default',
  osImageURL: 'quay.io/os@sha256:1',
};

/** Replaces a value deep in the spec. */
function change(path: string, value: unknown): Record<string, unknown> {
  const copy: Record<string, unknown> = structuredClone(SPEC);
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let parent = copy;
  for (const key of keys) parent = parent[key] as Record<string, unknown>;
  parent[last] = value;
  return copy;
}

const summarize = (text: string | null) => text?.replace(/[0-9a-f]{12}$/, 'DIGEST');

const DIGEST = 'sha256:DIGEST';
const ONLY_DROPIN = { name: 'b.service', dropins: [{ name: '10.conf' }] };

test.each([
  ['config.storage.files.0.mode', 384, 'file', '/etc/a', DIGEST, DIGEST],
  ['config.storage.files.1.contents', { source: 'data:,c' }, 'file', '/etc/b', DIGEST, DIGEST],
  ['config.storage.directories', [], 'directory', '/etc/a', DIGEST, undefined],
  ['config.storage.links.0.target', '/etc/b', 'link', '/etc/c', DIGEST, DIGEST],
  ['config.storage.disks.0.wipeTable', true, 'storage.disks', '/dev/vda', DIGEST, DIGEST],
  ['config.storage.luks', [{ name: 'root' }], 'storage.luks', 'root', undefined, DIGEST],
  ['config.systemd.units.0.contents', '', 'unit', 'a.service', DIGEST, DIGEST],
  ['config.systemd.units.0.dropins.0.contents', 'b', 'drop-in', 'a.service.d/10.conf', DIGEST, DIGEST],
  ['config.systemd.units.0.dropins', [], 'drop-in', 'a.service.d/10.conf', DIGEST, undefined],
  ['config.systemd.units.1', ONLY_DROPIN, 'drop-in', 'b.service.d/10.conf', undefined, DIGEST],
  ['config.passwd.users.0.sshAuthorizedKeys', [], 'user', 'core', DIGEST, DIGEST],
  ['config.passwd.groups.0.gid', 10, 'group', 'wheel', DIGEST, DIGEST],
  ['config.ignition.version', '3.4.0', 'setting', 'config.ignition.version', '3.5.0', '3.4.0'],
  ['config.kernelArguments', { shouldExist: ['c=d'] }, 'kernelArguments.shouldExist', 'c', undefined, DIGEST],
  ['kernelArguments', ['a=1', 'b=secret', 'b=2'], 'kernel argument', 'b', undefined, DIGEST],
  ['kernelArguments', ['a=1', 'a=1', 'b=2'], 'kernel argument', 'a', undefined, DIGEST],
  ['kernelArguments', ['a=1', 'b=2', 'nosmt'], 'kernel argument', 'nosmt', undefined, 'set'],
  ['kernelArguments', ['b=2', 'a=1'], 'setting', 'kernelArguments', DIGEST, DIGEST],
  ['extensions', [], 'extension', 'usbguard', 'set', undefined],
  ['fips', true, 'setting', 'fips', undefined, 'true'],
  ['kernelType', 'realtime', 'setting', 'kernelType', 'default', 'realtime'],
  ['osImageURL', 'quay.io/os@sha256:2', 'setting', 'osImageURL', 'quay.io/os@sha256:1', 'quay.io/os@sha256:2'],
  ['baseOSExtensionsContainerImage', '', 'setting', 'baseOSExtensionsContainerImage', undefined, ''],
])('finds a change of %s to %j', (path, value, kind, name, first, second) => {
  const differences = diffSpecs(SPEC, change(path, value)).map((difference) => ({
    kind: difference.kind,
    name: difference.name,
    first: summarize(difference.first),
    second: summarize(difference.second),
  }));
  expect(differences).toEqual([{ kind, name, first, second }]);
});

test('finds no difference in another order of keys', () => {
  const reversed = Object.fromEntries(Object.entries(SPEC).toReversed());
  expect(diffSpecs(SPEC, reversed)).toEqual([]);
});

test('sorts differences by kind and name', () => {
  const names = diffSpecs({}, SPEC).map(({ kind, name }) => `${kind} ${name}`);
  expect(names).toEqual(names.toSorted());
  expect(names).toContain('drop-in a.service.d/10.conf');
});
