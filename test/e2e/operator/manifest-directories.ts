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

/** Values for fields, right and wrong ones. */
const VALUES: readonly (readonly [kind: string, path: string, ...values: unknown[]])[] = [
  ['', 'apiVersion', undefined, 'machineconfiguration.openshift.io/v1beta1', 'machineconfig.openshift.io/v1'],
  ['', 'kind', undefined, 'Kustomization', 'AgentConfig', 'machineconfig', 'Configmap'],
  [
    '',
    'metadata.name',
    undefined,
    '',
    5,
    '99_a',
    '99-Worker',
    'a.b',
    'a..b',
    '-a',
    'x'.repeat(254),
    '${NAME}',
    '{{ name }}',
  ],
  ['', 'metadata.labels.a', 'b', '', null, 1, true, 'b c', '-b', 'x'.repeat(64), '<role>'],
  ['', 'metadata.labels', [], 'a', { 'a b': '' }, { 'Ex.com/a': '' }, { 'ex.com/A_b.c': '' }],
  ['', 'metadata.annotations', { a: 'b c' }, { a: 12 }, { 'a b': '' }, { 'Ex.com/a': '' }, [], null],
  ['', 'metadata.namespace', 'lab', 'default', 'openshift-config', ''],
  ['', 'metadata.finalizers', ['lab.example.com/a'], 'a'],
  ['', 'items', [], null],
  ['', 'status', {}],
  ['ConfigMap', 'data.a', 1, true, null, ['a']],
  ['ConfigMap', 'metadata.namespace', undefined, 'my-app'],
  ['Secret', 'data.a', 'plain text', 'YQ', 'YQ==\n', 5],
  ['Secret', 'stringData.a', 'plain text', 5],
  ['MachineConfig', 'spec', null, [], 'a', {}],
  ['MachineConfig', `metadata.labels.${ROLE}`, undefined, 'workers', 'infra', 'master', ''],
  ['MachineConfig', 'metadata.labels', undefined, {}],
  ['MachineConfig', `metadata.annotations.${MCO}/generated-by-controller-version`, 'abc', ''],
  ...ROLES.map((role): [string, string, ...unknown[]] => [
    ...(['MachineConfig', 'metadata.name'] as const),
    ...[`00-${role}`, `01-${role}-kubelet`, `01-${role}-container-runtime`, `97-${role}-generated-kubelet`],
    ...[
      `98-${role}-generated-kubelet`,
      `99-${role}-generated-registries`,
      `99-${role}-generated-kubelet`,
      `00-${role}-a`,
    ],
    `99-${role}-generated-containerruntime`,
  ]),
  ['MachineConfig', 'spec.fips', true, 'true', 1],
  ['MachineConfig', 'spec.osImageURL', '', 'quay.io/lab/os:1', 5],
  ['MachineConfig', 'spec.kernelArguments', 'a=1', [{ a: 1 }], [1], ['a', 'a'], [null], [], null],
  ['MachineConfig', 'spec.kernelType', 'default', '64k-pages', 'rt', true],
  ['MachineConfig', 'spec.extensions', 'usbguard', ['ipsec'], ['none'], ['kernel-devel'], [1]],
  ['MachineConfig', 'spec.config', null, {}, 'x', [], { ignition: null }],
  [
    'MachineConfig',
    'spec.config.ignition.version',
    '3.6.0',
    '3.4',
    3.4,
    '',
    'VERSION',
    '2.2.0',
    '3.0.0',
    '3.5.0-experimental',
  ],
  ['MachineConfig', 'spec.config.unknown', 1],
  ['MachineConfig', 'spec.config.Storage', { files: [{ path: 'x' }] }],
  [
    'MachineConfig',
    'spec.config.storage',
    null,
    [],
    { files: {} },
    { files: null },
    { files: [FILE, FILE] },
    { files: [null] },
  ],
  [
    'MachineConfig',
    'spec.config.storage.files.0.path',
    'etc/a',
    '/a/../b',
    '/a//b',
    '/a/',
    '/',
    '',
    null,
    5,
    '/opt/a',
    '/opt/b',
  ],
  ['MachineConfig', 'spec.config.storage.files.0.mode', 0o777, 0o1777, 644, 9999, -1, '0644', 1.5, null],
  ['MachineConfig', 'spec.config.storage.files.0.user', { name: 'core' }, { id: '0' }, { id: 0, name: 'root' }],
  ['MachineConfig', 'spec.config.storage.files.0.contents', {}, null, 'a', { source: 'data:,a', compression: 'zstd' }],
  [
    ...(['MachineConfig', 'spec.config.storage.files.0.contents.source'] as const),
    ...[
      'https://example.com/a',
      'ftp://example.com/a',
      'file:///a',
      'a',
      '',
      null,
      '${SOURCE}',
      'data:,${CONTENT}',
      'data:',
    ],
    ...[
      'data:,a b',
      'data:,a%2',
      'data:,a#b',
      'data:,ä',
      'data:,{{ a }}',
      'data:text/plain,a',
      'data:text,a',
      'data:;utf8,a',
    ],
    ...[
      'data:;base64,YQ',
      'data:;base64,YQ==x',
      'data:;base64,_-_-',
      'data:;base64,',
      'DATA:,a',
      'data:;charset="a b",c',
    ],
  ],
  ['MachineConfig', 'spec.config.storage.links.0.target', undefined, '', 5],
  ['MachineConfig', 'spec.config.systemd.units', {}, [UNIT, UNIT], [], null],
  ['MachineConfig', 'spec.config.systemd.units.0.name', 'a', 'a.conf', 'a@b.service', '', undefined, 5],
  ['MachineConfig', 'spec.config.systemd.units.0.enabled', 'true', null],
  ['MachineConfig', 'spec.config.systemd.units.0.contents', '', null, 5],
  ['MachineConfig', 'spec.config.systemd.units.1.dropins.0.name', '10', '', '10.conf'],
  ['MachineConfig', 'spec.config.passwd.users.0.sshAuthorizedKeys', 'ssh-rsa AAAA', ['a', 'a'], [5]],
  ['KubeletConfig', 'spec.logLevel', 0, 11, 1, '5'],
  ['KubeletConfig', 'spec.autoSizingReserved', true, 'true'],
  ['KubeletConfig', 'spec.kubeletConfig', 'a', [], null, { cgroupDriver: 'systemd' }, { featureGates: { a: true } }],
  ['KubeletConfig', 'spec.kubeletConfig.maxPods', 'abc', 1.5, '500', -1],
  ['KubeletConfig', 'spec.kubeletConfig.syncFrequency', '1m30s', 'abc', 5],
  ['KubeletConfig', 'spec.kubeletConfig.evictionHard', { 'memory.available': '5%' }, { 'memory.available': 5 }],
  ['KubeletConfig', 'spec.kubeletConfig.failSwapOn', 'no', false],
  ['KubeletConfig', 'spec.machineConfigPoolSelector', undefined, {}, { matchLabels: { [`${MCO}/mco-built-in`]: '' } }],
  ['KubeletConfig', 'spec.tlsSecurityProfile', { type: 'Old' }, { type: 'none' }],
  ['ContainerRuntimeConfig', 'spec.containerRuntimeConfig', undefined, null, {}],
  ['ContainerRuntimeConfig', 'spec.containerRuntimeConfig.pidsLimit', 0, 19, 20, -1, '20'],
  [
    'ContainerRuntimeConfig',
    'spec.containerRuntimeConfig.logSizeMax',
    '8k',
    '8192',
    '8193',
    9000,
    '10MB',
    '1e4',
    '-1',
    '9000m',
    '',
  ],
  ['ContainerRuntimeConfig', 'spec.containerRuntimeConfig.overlaySize', '8G', '-1', '1.5Gi'],
  ['ContainerRuntimeConfig', 'spec.containerRuntimeConfig.logLevel', 'warning', '', 'warn'],
  ['ContainerRuntimeConfig', 'spec.containerRuntimeConfig.defaultRuntime', 'crun', 'kata'],
  ...[
    ['ImageDigestMirrorSet', 'imageDigestMirrors'],
    ['ImageTagMirrorSet', 'imageTagMirrors'],
  ].flatMap(([kind = '', field]): [string, string, ...unknown[]][] => [
    [kind, `spec.${field}`, 'a', [], null, [{ mirrors: ['a.example.com'] }]],
    [
      kind,
      `spec.${field}.0.source`,
      'https://quay.io/a',
      'quay.io/a:1',
      '*.quay.io',
      '*.quay.io/a',
      'quay.io',
      'quay.io/A',
      '',
    ],
    [
      kind,
      `spec.${field}.0.mirrors`,
      [],
      ['http://a.b'],
      ['*.b'],
      ['a.b/c:1'],
      ['${MIRROR}/a'],
      ['a.b', 'a.b'],
      ['localhost:5000'],
    ],
    [kind, `spec.${field}.0.mirrorSourcePolicy`, 'NeverContactSource', 'Never'],
  ]),
  ['MachineConfigPool', 'metadata.name', 'worker', 'master', 'lab'],
  ['MachineConfigPool', 'spec.paused', true, 'yes'],
  ['MachineConfigPool', 'spec.maxUnavailable', 1, '50%', true],
  [
    ...(['MachineConfigPool', 'spec.machineConfigSelector'] as const),
    ...[undefined, {}, { matchLabels: { [ROLE]: 'infra' } }, { matchLabels: { [ROLE]: 'none' } }],
    ...[{ matchExpressions: [{ key: ROLE, operator: 'NotIn', values: ['master'] }] }],
    ...[
      { matchExpressions: [{ key: ROLE, operator: 'Is', values: ['a'] }] },
      { matchExpressions: [{ key: ROLE, operator: 'In' }] },
    ],
  ],
];

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
  return JSON.parse(JSON.stringify(setField(each, splitPath(path), value))) as Part;
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
