import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { stringify } from 'yaml';

/** The files of an installer's directory by path. */
export type Directory = Readonly<Record<string, string>>;

type Json = Record<string, unknown>;
interface Part extends Json {
  readonly kind: string;
}

const MCO = 'machineconfiguration.openshift.io';
const ROLE = `${MCO}/role`;
const ROLES = ['master', 'worker'];
const FILE = { path: '/etc/a.conf', mode: 0o644, contents: { source: 'data:,a%20b' } };
const UNIT = {
  name: 'a.service',
  enabled: true,
  contents: '[Unit]\nDescription=a\n\n[Service]\nExecStart=/bin/true\n',
};

/** Each config has other contents, because two with the same ones render like one. */
function createSections(name: string): Json {
  return {
    storage: {
      files: [FILE, { path: `/etc/${name}`, contents: { source: 'data:text/plain;charset=utf-8;base64,YQ==' } }],
      directories: [{ path: '/opt/a', mode: 0o755 }],
      links: [{ path: '/opt/b', target: '/opt/a' }],
    },
    systemd: { units: [UNIT, { name: 'b.socket', mask: true, dropins: [{ name: '10.conf', contents: '[Unit]\n' }] }] },
    passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-rsa AAAA'] }] },
  };
}

function createConfig(name: string, role: string, spec: Json): Part {
  return { apiVersion: `${MCO}/v1`, kind: 'MachineConfig', metadata: { name, labels: { [ROLE]: role } }, spec };
}

function createSelecting(kind: string, name: string, pool: string, spec: Json): Part {
  const machineConfigPoolSelector = { matchLabels: { [`pools.operator.${MCO}/${pool}`]: '' } };
  return { apiVersion: `${MCO}/v1`, kind, metadata: { name }, spec: { machineConfigPoolSelector, ...spec } };
}

function createMirrors(kind: string, field: string): Part {
  const spec = { [field]: [{ source: 'quay.io/lab/a', mirrors: ['registry.example.com:5000/lab'] }] };
  return { apiVersion: 'config.openshift.io/v1', kind, metadata: { name: 'lab' }, spec };
}

function createPlain(apiVersion: string, kind: string, metadata: Json, rest: Json = {}): Part {
  return { apiVersion, kind, metadata, ...rest };
}

/** What users write and real programs accept, if they are alone. */
const PARTS: readonly Part[] = [
  ...['3.1.0', '3.4.0', '3.5.0'].flatMap((version) =>
    ROLES.map((role) =>
      createConfig(`99-${role}-${version}`, role, {
        config: { ignition: { version }, ...createSections(role + version) },
      }),
    ),
  ),
  createConfig('99-worker-old', 'worker', { config: { ignition: { version: '2.2.0' } } }),
  createConfig('98-worker', 'worker', { kernelArguments: ['nosmt', 'a=1'], kernelType: 'realtime' }),
  createConfig('98-master', 'master', {
    extensions: ['usbguard'],
    fips: false,
    config: { ignition: { version: '3.2.0' } },
  }),
  createConfig('99-infra', 'infra', { config: { ignition: { version: '3.2.0' } } }),
  createSelecting('KubeletConfig', 'max-pods', 'worker', {
    kubeletConfig: { maxPods: 500, systemReserved: { cpu: '1' } },
  }),
  createSelecting('KubeletConfig', 'masters', 'master', { autoSizingReserved: true, logLevel: 5 }),
  createSelecting('ContainerRuntimeConfig', 'pids', 'worker', {
    containerRuntimeConfig: { pidsLimit: 2048, logSizeMax: '10M', logLevel: 'debug' },
  }),
  createMirrors('ImageDigestMirrorSet', 'imageDigestMirrors'),
  createMirrors('ImageTagMirrorSet', 'imageTagMirrors'),
  createPlain(
    `${MCO}/v1`,
    'MachineConfigPool',
    { name: 'infra' },
    {
      spec: {
        machineConfigSelector: { matchExpressions: [{ key: ROLE, operator: 'In', values: ['worker', 'infra'] }] },
      },
    },
  ),
  createPlain('v1', 'ConfigMap', { name: 'a', namespace: 'openshift-config' }, { data: { a: 'b: c\n' } }),
  createPlain('v1', 'Secret', { name: 'a', namespace: 'openshift-config' }, { data: { a: 'YQ==' } }),
  createPlain('v1', 'Namespace', { name: 'lab' }),
  createPlain('rbac.authorization.k8s.io/v1', 'ClusterRole', { name: 'lab:a' }),
];

/** Values for fields, right and wrong ones. Each line: a kind or '' for all, a path, and values. */
const VALUES = readFileSync(join(import.meta.dirname, 'manifest-values.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as [kind: string, path: string, ...values: unknown[]]);

/** Changes of a text, harmless and harmful ones. */
const EDITS: readonly ((text: string) => string)[] = [
  ...['\uFEFF', '---\n', '# a\n---\n', '---\n---\n', '--- # a\n', '\t\n', '%YAML 1.1\n---\n', '...\n'].map(
    (start) => (text: string) => start + text,
  ),
  ...['---\n', '...\n', '---\n# end\n', '\t# a\n', '}\n', '---\nkind: A\n'].map((end) => (text: string) => text + end),
  (text) => text.trimEnd(),
  (text) => text.replaceAll('\n', '\r\n'),
  (text) => text.replaceAll('\n', '\r'),
  (text) => text.replace(/^( +)/m, '\t'),
  (text) => text.replace('spec:', 'spec: {}\nspec:'),
  (text) => text.replace('spec:\n  ', 'spec:\n'),
  (text) => text.replace('name:', 'name: &a\u2028'),
  (text) => text.replace('metadata:', 'x-a: &a {b: c}\nmetadata:\n  <<: *a'),
  (text) => text.replace(/: (\S+)$/m, ': "$1"'),
  () => '',
  () => '# disabled\n',
];

function setField(part: Json, [key = '', ...keys]: readonly string[], value: unknown): Json {
  const copy = (Array.isArray(part) ? [...(part as unknown[])] : { ...part }) as Json;
  const child = copy[key];
  const isCollection = typeof child === 'object' && child !== null;
  if (keys.length === 0) copy[key] = value;
  else copy[key] = setField(isCollection ? (child as Json) : {}, keys, value);
  return copy;
}

/** The role label contains dots. */
function splitPath(path: string): readonly string[] {
  return path.split(/\.(?!openshift|io\/|operator)/);
}

const part = fc.constantFrom(...PARTS);
const changedPart = fc.tuple(part, fc.nat()).map(([each, seed]) => {
  const choices = VALUES.filter(([kind]) => kind === '' || kind === each.kind).flatMap(([, path, ...values]) =>
    values.map((value) => [path, value] as const),
  );
  const [path, value] = choices[seed % choices.length] ?? ['', undefined];
  return JSON.parse(JSON.stringify(setField(each, splitPath(path), value === '(unset)' ? undefined : value))) as Part;
});
const text = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .oneof({ weight: 2, arbitrary: part }, { weight: 3, arbitrary: changedPart })
      .map((each) => stringify(each)),
  },
  { weight: 1, arbitrary: changedPart.map((each) => `${JSON.stringify(each)}\n`) },
  {
    weight: 1,
    arbitrary: fc.tuple(part, part).map(([first, second]) => `${stringify(first)}---\n${stringify(second)}`),
  },
  { weight: 2, arbitrary: fc.tuple(part, fc.constantFrom(...EDITS)).map(([each, edit]) => edit(stringify(each))) },
);
const path = fc.constantFrom(
  'openshift/a.yaml',
  'openshift/b.yaml',
  'openshift/c.yml',
  'openshift/d.json',
  'manifests/a.yaml',
  'manifests/e.yaml',
);

/** Directories of one to four manifests, of which many have a fault. */
export const manifestDirectory: fc.Arbitrary<Directory> = fc
  .array(fc.tuple(path, text), { minLength: 1, maxLength: 4 })
  .map((files) => Object.fromEntries(files));
