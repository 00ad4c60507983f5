import { type Dir, Dirent, mkdirSync, symlinkSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { FileError } from '../../src/files/file-error.ts';
import {
  formatOrigins,
  hasIgnitionContent,
  parseRenderedConfig,
  parseRenderedConfigs,
  readBootstrapSources,
  readRenderedConfigs,
} from '../../src/rendered-config/rendered-config.ts';
import { formatGoYaml } from '../../src/rendered-config/go-yaml.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';
import { SPECIAL_TEXTS } from '../support/yaml-texts.ts';

const ORIGIN = { type: 'file', label: 'config' } as const;
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
const YAML = stringify(CONFIG, { indentSeq: false });

const { signal } = new AbortController();
let directory: string;

beforeEach(() => {
  directory = createTemporaryDirectory();
});

function write(name: string, content: string | object): void {
  writeFiles(directory, { [name]: typeof content === 'string' ? content : JSON.stringify(content) });
}

function rename(name: string): object {
  return { ...CONFIG, metadata: { ...CONFIG.metadata, name } };
}

test.each([
  ['JSON', JSON.stringify(CONFIG)],
  // As the in-cluster machine-config-server writes it.
  ['JSON without kind and apiVersion', JSON.stringify({ metadata: CONFIG.metadata, spec: CONFIG.spec })],
  ['YAML', YAML],
  ['YAML with CRLF', YAML.replaceAll('\n', '\r\n')],
  ['YAML with a byte order mark and a document start', `\uFEFF---\n${YAML}`],
])('parses %s', (_, text) => {
  expect(parseRenderedConfig(text, ORIGIN)).toEqual({
    name: NAME,
    apiVersion: CONFIG.apiVersion,
    spec: CONFIG.spec,
    annotations: CONFIG.metadata.annotations,
    origins: [ORIGIN],
  });
});

test.each(SPECIAL_TEXTS)('reads what the operator writes for %j', (text) => {
  const spec = { ...CONFIG.spec, extra: text, list: [text, [text]], map: { extra: [{ extra: text }] } };
  const yaml = formatGoYaml({ kind: CONFIG.kind, apiVersion: CONFIG.apiVersion, metadata: { name: NAME }, spec });
  expect(parseRenderedConfig(yaml, ORIGIN).spec).toEqual(spec);
});

test.each([
  ['', 'is empty'],
  ['{"c2VjcmV0": "MachineConfig"', 'is not complete JSON; copy the file again'],
  [`${YAML}  - c2VjcmV0: {`, 'is neither JSON nor YAML (line 27); copy the file again'],
  [`${YAML}---\n${YAML}`, 'contains 2 objects, not one MachineConfig; choose another file'],
  [`${YAML}---\na: [\n`, 'is neither JSON nor YAML (line 28); copy the file again'],
  [`${YAML}...\n${YAML}`, 'is neither JSON nor YAML (line 1); copy the file again'],
  ['# a comment', 'contains no object of Kubernetes, not one MachineConfig; choose another file'],
  ['{"kind": "List", "items": []}', 'contains 0 objects, not one MachineConfig; choose another file'],
  ['{"kind": "List", "items": {}}', 'contains an object of kind List, not one MachineConfig; choose another file'],
  [JSON.stringify({ ...CONFIG, apiVersion: `x${CONFIG.apiVersion}` }), 'contains an object of kind MachineConfig'],
  [JSON.stringify({ ...CONFIG, metadata: {} }), 'contains a MachineConfig without metadata.name'],
  [JSON.stringify({ ...CONFIG, spec: null }), 'contains a MachineConfig without spec'],
  [JSON.stringify(rename('99-master-ssh')), 'contains MachineConfig "99-master-ssh", which is not a rendered config'],
  [`${YAML}  a: -9007199254740993\n`, 'contains a number beyond 2^53, which this command cannot copy exactly'],
  [`${YAML}  extra: .inf\n`, 'is neither JSON nor YAML (line 27)'],
  ['{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000), 'is nested deeper than any MachineConfig'],
  ['{"a":'.repeat(99) + '1' + '}'.repeat(99), 'contains no object of Kubernetes'],
  ['{"a":'.repeat(100) + '1' + '}'.repeat(100), 'is nested deeper than any MachineConfig'],
  [`a: ${'['.repeat(20_000)}`, 'is '],
  ['{"kind":"MachineConfig","spec":{"c2VjcmV0":1e999}}', 'contains a number beyond 2^53'],
  [JSON.stringify({ metadata: { name: 'worker' }, spec: {} }), 'contains no object of Kubernetes'],
])('rejects %#', (text, message) => {
  const parse = () => parseRenderedConfig(text, ORIGIN);
  expect(parse).toThrow(FileError);
  expect(parse).toThrow(`config ${message}`);
  // No message contains the content.
  expect(parse).toThrow(/^(?!.*c2VjcmV0)/);
});

const SOURCE = rename('99-master-ssh');
const OTHER = rename(OTHER_NAME);
const toList = (kind: string) => ({ apiVersion: 'v1', kind, items: [SOURCE, CONFIG, OTHER] });

test.each([
  ['a List as YAML', stringify(toList('List'))],
  ['a List as JSON', JSON.stringify(toList('List'))],
  ['the list of the API', JSON.stringify(toList('MachineConfigList'))],
  ['YAML documents', [SOURCE, CONFIG, OTHER].map((object) => `---\n${stringify(object)}`).join('')],
  ['YAML documents with CRLF', `${YAML}---\n${stringify(OTHER)}---\n`.replaceAll('\n', '\r\n')],
])('reads every rendered config of %s, from a text and below a directory', async (_, text) => {
  expect(parseRenderedConfigs(text, ORIGIN).map(({ name, spec }) => [name, spec])).toEqual([
    [NAME, CONFIG.spec],
    [OTHER_NAME, CONFIG.spec],
  ]);
  write('all.yaml', text);
  const origin = `${directory}/all.yaml`;
  expect(await read()).toEqual({
    configs: [
      [NAME, origin],
      [OTHER_NAME, origin],
    ],
    problems: [],
  });
});

test('reads a single object like a file with one, and rejects several without a rendered config', () => {
  expect(parseRenderedConfigs(YAML, ORIGIN)).toEqual([parseRenderedConfig(YAML, ORIGIN)]);
  expect(() => parseRenderedConfigs(JSON.stringify(SOURCE), ORIGIN)).toThrow('which is not a rendered config');
  const several = () => parseRenderedConfigs(JSON.stringify({ kind: 'List', items: [SOURCE, {}] }), ORIGIN);
  expect(several).toThrow(new FileError('config contains 2 objects, and no rendered config; choose another file'));
});

test('names an unusable file that mentions a wanted config, unless another file contains it', async () => {
  write('all.yaml', `items:\n- {metadata: {name: ${NAME}`);
  write('big.json', `{"metadata":{"name":"${OTHER_NAME}"}}${' '.repeat(9 * 1024 * 1024)}`);
  const broken = `${directory}/all.yaml is neither JSON nor YAML (line 2); copy the file again`;
  const large = `${directory}/big.json has more than 8 MiB`;
  expect((await read()).problems).toEqual([broken, large]);
  // As `oc get -o yaml` writes it, with any name.
  write('rendered-copy', YAML);
  expect((await read()).problems).toEqual([large]);
});

async function read(isWanted: (name: string) => boolean = () => true) {
  const { configs, problems } = await readRenderedConfigs(directory, isWanted, signal);
  return { configs: configs.map((config) => [config.name, formatOrigins(config)]), problems };
}

const MANIFESTS = 'quay/cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigs';
const OTHER_FILE = `${MANIFESTS}/b.yaml`;
const BOOTSTRAP_FILE = 'bootstrap/machine-configs/a.yaml';
const DISK_FILE = 'quay/machine_config_ondisk/control1/mcs-machine-config-content.json';
/** As `oc adm must-gather` and the bootstrap host arrange their files. */
const FILES: Readonly<Record<string, string | object>> = {
  [OTHER_FILE]: rename(OTHER_NAME),
  [`${MANIFESTS}/99-master-ssh.yaml`]: { ...rename('99-master-ssh'), comment: `name: ${NAME}` },
  [DISK_FILE]: { metadata: CONFIG.metadata, spec: CONFIG.spec },
  [BOOTSTRAP_FILE]: `${YAML}# name: ${OTHER_NAME}\n`,
  'bootstrap/machine-pools/master.yaml': { ...CONFIG, kind: 'MachineConfigPool' },
  'quay/namespaces/a/events.yaml': `- {name: ${NAME}`,
  'notes.txt': 'text',
};

test('reads every rendered config below a directory, equal copies as one and others apart', async () => {
  for (const [name, content] of Object.entries(FILES)) write(name, content);
  mkdirSync(path.join(directory, 'old.yaml'));
  symlinkSync('/', path.join(directory, 'link'));
  const other = [OTHER_NAME, `${directory}/${OTHER_FILE}`];
  const both = [NAME, `${directory}/${BOOTSTRAP_FILE} and ${directory}/${DISK_FILE}`];
  expect(await read()).toEqual({ configs: [both, other], problems: [] });
  expect(await read((name) => name === OTHER_NAME)).toEqual({ configs: [other], problems: [] });
  write('host/currentconfig', { ...CONFIG, spec: { ...CONFIG.spec, fips: true } });
  expect((await read()).configs).toEqual([both, [NAME, `${directory}/host/currentconfig`], other]);
});

test('finds the config in a must-gather of 250 nodes', async () => {
  write('a.yaml', YAML);
  const entries = await fs.readdir(directory, { withFileTypes: true });
  const others = Array.from({ length: 50_000 }, (_, index) => Object.assign(new Dirent(), { name: `${index}.log` }));
  const opendir = vi.spyOn(fs, 'opendir').mockResolvedValue([...others, ...entries] as unknown as Dir);
  syncBuiltinESMExports();
  try {
    expect((await read()).configs).toEqual([[NAME, `${directory}/a.yaml`]]);
  } finally {
    opendir.mockRestore();
    syncBuiltinESMExports();
  }
});

test('names at most ten unusable files that look like a config, and reads at most 50 copies', async () => {
  const unusable = ['rendered-\u001B[31m.json', 'x/mcs-machine-config-content.json', 'x/currentconfig'];
  for (const name of [...unusable, 'not-rendered-a.json', 'rendered-x/a.json']) write(name, '{"name":"rendered-');
  write('rendered-b.json', ' '.repeat(9 * 1024 * 1024));
  for (let index = 10; index < 61; index += 1) {
    write(`${index}/currentconfig`, { ...CONFIG, spec: { ...CONFIG.spec, kernelArguments: [String(index)] } });
  }
  const { configs, problems } = await read();
  expect(configs).toHaveLength(50);
  expect(problems.map((problem) => problem.replace(`${directory}/`, ''))).toEqual([
    '60/currentconfig is one of more than 50 different copies; choose a single file',
    'rendered- [31m.json is not complete JSON; copy the file again',
    'rendered-b.json has more than 8 MiB',
    'x/currentconfig is not complete JSON; copy the file again',
    'x/mcs-machine-config-content.json is not complete JSON; copy the file again',
  ]);
  for (let index = 0; index < 9; index += 1) write(`rendered-${index}.json`, '{');
  expect((await read()).problems.slice(10)).toEqual(['4 more files cannot be used']);
});

test('reads the names of the sources in all pools of a bootstrap host', async () => {
  expect(await readBootstrapSources(directory, signal)).toBeUndefined();
  const sources = [[{ name: '00-worker' }, {}, null, { name: '' }], 'x', [{ name: '99-worker-ssh' }]];
  const pools = [...sources.map((source) => ({ spec: { configuration: { source } } })), { spec: {} }, {}];
  for (const [index, pool] of pools.entries()) write(`machine-pools/${index}.yaml`, pool);
  expect(await readBootstrapSources(directory, signal)).toEqual(new Set(['00-worker', '99-worker-ssh']));
  write('machine-pools/broken.yaml', '{');
  await expect(readBootstrapSources(directory, signal)).rejects.toThrow('broken.yaml is not complete JSON');
});

test.each([
  [IGNITION, true],
  [{ ignition: { version: '3.5.0' }, storage: {}, systemd: { units: [] } }, false],
  [{ passwd: { users: [{ name: 'core' }] } }, true],
  [null, false],
])('whether %j has Ignition content: %s', (config, hasContent) => {
  const text = JSON.stringify({ ...CONFIG, spec: { config } });
  expect(hasIgnitionContent(parseRenderedConfig(text, ORIGIN))).toBe(hasContent);
});
