import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  ConfigFileError,
  hasIgnitionContent,
  parseRenderedConfig,
  readRenderedConfigs,
} from '../../src/rendered-config/rendered-config.ts';
import { formatGoYaml } from '../../src/rendered-config/go-yaml.ts';
import { SPECIAL_TEXTS } from '../support/yaml-texts.ts';

const NAME = `rendered-master-${'1'.repeat(32)}`;
const OTHER_NAME = `rendered-worker-${'2'.repeat(32)}`;
const FILE = { path: '/etc/motd', mode: 420, contents: { source: 'data:,c2VjcmV0' } };
const IGNITION = { ignition: { version: '3.5.0' }, storage: { files: [FILE] } };
const CONFIG = {
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: {
    name: NAME,
    creationTimestamp: null,
    annotations: { 'machineconfiguration.openshift.io/release-image-version': '4.21.0' },
    labels: { team: 'a' },
    ownerReferences: [{ kind: 'MachineConfigPool', name: 'master', uid: '' }],
  },
  spec: { config: IGNITION, fips: false, kernelArguments: null, osImageURL: 'quay.io/os@sha256:1' },
};
const YAML = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  annotations:
    machineconfiguration.openshift.io/release-image-version: 4.21.0
  creationTimestamp: null
  labels:
    team: a
  name: ${NAME}
spec:
  config:
    ignition:
      version: 3.5.0
    storage:
      files:
      - contents:
          source: data:,c2VjcmV0
        mode: 420
        path: /etc/motd
  fips: false
  kernelArguments: null
  osImageURL: quay.io/os@sha256:1
`;

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'mcg-configs-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function write(name: string, content: string | object): Promise<void> {
  const file = path.join(directory, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
}

function rename(name: string): object {
  return { ...CONFIG, metadata: { ...CONFIG.metadata, name } };
}

test.each([
  ['JSON', JSON.stringify(CONFIG)],
  ['YAML', YAML],
  ['YAML with CRLF', YAML.replaceAll('\n', '\r\n')],
  ['YAML with a byte order mark and a document start', `\uFEFF---\n${YAML}`],
])('parses %s', (_, text) => {
  expect(parseRenderedConfig(text, 'config')).toEqual({
    name: NAME,
    apiVersion: CONFIG.apiVersion,
    spec: CONFIG.spec,
    annotations: CONFIG.metadata.annotations,
    source: 'config',
  });
});

test.each([
  ['1:30', '1:30'],
  ['0o17', 15],
  ['0o8', '0o8'],
  ['017', 15],
  ['089', 89],
  ['-0x1F', -31],
  ['0b-11', -3],
  ['1_000', 1000],
  ['._5', '._5'],
  ['.5', 0.5],
  ['1e3', 1000],
  ['1e999', '1e999'],
  ['.', '.'],
  ['2001-12-14', '2001-12-14'],
  ['yes', true],
  ['Off', false],
  ['~', null],
  ['', null],
  ['<<', '<<'],
  ["'yes'", 'yes'],
  ['"1"', '1'],
])('reads the unquoted %j as Go does', (text, value) => {
  const { spec } = parseRenderedConfig(`${YAML}  extra: ${text}\n`, 'config');
  expect(spec['extra']).toBe(value);
});

/** YAML 1.1 has more line breaks than YAML 1.2. The operator's parser folds a NEL, see config-hash.test.ts. */
const SAME_IN_BOTH = SPECIAL_TEXTS.filter((text) => !/[\u0085\u2028\u2029]/.test(text));

test.each(SAME_IN_BOTH)('reads what the operator writes for %j', (text) => {
  const spec = { ...CONFIG.spec, extra: text, list: [text, [text]], map: { [text]: { [text]: text } } };
  expect(parseRenderedConfig(formatGoYaml({ ...CONFIG, spec }), 'config').spec).toEqual(spec);
});

test('reads an unquoted key as Go does', () => {
  const { spec } = parseRenderedConfig(`${YAML}  yes: 1\n  017: 2\n  "on": 3\n`, 'config');
  expect(spec).toMatchObject({ true: 1, 15: 2, on: 3 });
});

test.each([
  ['', 'config is empty'],
  ['{"kind": "MachineConfig"', 'config is not complete JSON; copy the file again'],
  [`${YAML}  - c2VjcmV0: {`, 'config is neither JSON nor YAML (line 23); copy the file again'],
  [`${YAML}---\n${YAML}`, 'config contains 2 YAML documents; put each in a file of its own'],
  ['just text', 'config contains no object of Kubernetes, not one MachineConfig; choose another file'],
  [
    '{"kind": "List", "items": []}',
    'config contains an object of kind List, not one MachineConfig; choose another file',
  ],
  [
    JSON.stringify({ ...CONFIG, apiVersion: 'v1' }),
    'config contains an object of kind MachineConfig, not one MachineConfig; choose another file',
  ],
  [JSON.stringify({ ...CONFIG, metadata: {} }), 'config contains a MachineConfig without metadata.name'],
  [JSON.stringify({ ...CONFIG, spec: null }), 'config contains a MachineConfig without spec'],
  [
    JSON.stringify(rename('99-master-ssh')),
    'config contains MachineConfig "99-master-ssh", which is not a rendered config',
  ],
  [
    `${YAML}  extra: 9007199254740993\n`,
    'config contains a number beyond 2^53, which this command cannot copy exactly',
  ],
  [`${YAML}  extra: .inf\n`, /number beyond 2\^53/],
  [`a: &a [1]\nb: [${'*a, '.repeat(200)}]`, 'config is not YAML that this command can read'],
  ['{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000), 'config is nested deeper than any MachineConfig'],
  [`a: ${'['.repeat(20_000)}`, /^config /],
  [`#${'x'.repeat(8 * 1024 * 1024)}`, /^config is larger than any MachineConfig/],
])('rejects %#', (text, message) => {
  const parse = () => parseRenderedConfig(text, 'config');
  expect(parse).toThrow(ConfigFileError);
  expect(parse).toThrow(message);
});

test.each(['{"c2VjcmV0', `${YAML}  c2VjcmV0: {`, '{"kind":"MachineConfig","spec":{"c2VjcmV0":1e999}}'])(
  'no message contains the content: %#',
  (text) => {
    expect(() => parseRenderedConfig(text, 'config')).toThrow(/^(?!.*c2VjcmV0)/);
  },
);

test('prints no warning, which could contain the content', () => {
  const emitWarning = vi.spyOn(process, 'emitWarning');
  parseRenderedConfig(`${YAML}  ? [c2VjcmV0]\n  : 1\n`, 'config');
  expect(emitWarning).not.toHaveBeenCalled();
});

test('reads every rendered config of a directory, sorted by name', async () => {
  await write('b.yaml', rename(OTHER_NAME));
  await write('c.json', CONFIG);
  await write('99-master-ssh.yml', rename('99-master-ssh'));
  await write('pool.yaml', { ...CONFIG, kind: 'MachineConfigPool' });
  await write('notes.txt', 'text');
  await mkdir(path.join(directory, 'old.yaml'));
  const configs = await readRenderedConfigs(directory);
  expect(configs.map(({ name, source }) => [name, source])).toEqual([
    [NAME, path.join(directory, 'c.json')],
    [OTHER_NAME, path.join(directory, 'b.yaml')],
  ]);
});

test('reads the folder machine-configs of a bootstrap directory', async () => {
  await write('machine-configs/a.yaml', YAML);
  await write('other.yaml', rename(OTHER_NAME));
  expect((await readRenderedConfigs(directory)).map(({ name }) => name)).toEqual([NAME]);
});

test.each([
  [{ 'a.yaml': '{', 'b.yaml': YAML }, /a\.yaml is not complete JSON/],
  [
    { 'a.yaml': YAML, 'b.yaml': YAML },
    /a\.yaml and .*b\.yaml both contain rendered-master-1+; remove one of them/,
  ],
])('an unusable file is an error: %#', async (files, message) => {
  for (const [name, text] of Object.entries(files)) await write(name, text);
  await expect(readRenderedConfigs(directory)).rejects.toThrow(message);
});

test('a missing directory is an error that names it', async () => {
  const missing = path.join(directory, 'missing');
  await expect(readRenderedConfigs(missing)).rejects.toThrow(`cannot read ${missing}: it does not exist`);
});

test.each([
  [IGNITION, true],
  [{ ignition: { version: '3.5.0' } }, false],
  [{ ignition: { version: '3.5.0' }, storage: {}, systemd: { units: [] }, passwd: {} }, false],
  [{ systemd: { units: [{ name: 'a.service' }] } }, true],
  [{ passwd: { users: [{ name: 'core' }] } }, true],
  [null, false],
])('whether %j has Ignition content: %s', (config, hasContent) => {
  const text = JSON.stringify({ ...CONFIG, spec: { config } });
  expect(hasIgnitionContent(parseRenderedConfig(text, 'config'))).toBe(hasContent);
});
