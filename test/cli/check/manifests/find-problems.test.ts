import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { FILE_FINDERS, FINAL_FINDERS, OBJECT_FINDERS } from '../../../../src/cli/check/manifests/finders.ts';
import { findProblems } from '../../../../src/cli/check/manifests/find-problems.ts';
import { readManifests } from '../../../../src/cli/check/manifests/read-manifests.ts';
import { RULES } from '../../../../src/cli/check/manifests/rules.ts';
import { createTemporaryDirectory, writeFiles } from '../../temporary-directory.ts';

type Json = Record<string, unknown>;
type Files = Readonly<Record<string, string | Json>>;

const MCO = 'machineconfiguration.openshift.io';
const ROLE = `${MCO}/role`;
const FILE = { path: '/etc/a', mode: 0o644, contents: { source: 'data:,a' } };

/** Writes objects as YAML into files, and returns `SEVERITY CODE` of each problem. */
async function find(files: Files, release?: string): Promise<string[]> {
  const { problems } = await findAll(files, release);
  return problems.map(({ severity, code }) => `${severity} ${code}`);
}

async function findAll(files: Files, release?: string) {
  const manifests = Object.entries(files).map(([file, content]) => {
    const text = typeof content === 'string' ? content : stringify(content);
    return { path: file, content: Buffer.from(text) };
  });
  return await findProblems(manifests, release);
}

function createObject(apiVersion: string, kind: string, rest: Json = {}, metadata: Json = {}): Json {
  return { apiVersion, kind, metadata: { name: 'a', ...metadata }, ...rest };
}

function createConfig(spec: unknown, metadata: Json = {}): Json {
  return createObject(
    `${MCO}/v1`,
    'MachineConfig',
    { spec },
    { name: '99-worker-a', labels: { [ROLE]: 'worker' }, ...metadata },
  );
}

function createIgnition(sections: Json, version: unknown = '3.2.0'): Json {
  return createConfig({ config: { ignition: { version }, ...sections } });
}

function createFile(file: Json, version?: string): Json {
  return createIgnition({ storage: { files: [{ ...FILE, ...file }] } }, version);
}

function createSelecting(kind: string, spec: Json, pool = 'worker', name = 'a'): Json {
  const machineConfigPoolSelector = { matchLabels: { [`pools.operator.${MCO}/${pool}`]: '' } };
  return createObject(`${MCO}/v1`, kind, { spec: { machineConfigPoolSelector, ...spec } }, { name });
}

function createPool(selector: unknown, name = 'infra'): Json {
  return createObject(`${MCO}/v1`, 'MachineConfigPool', { spec: { machineConfigSelector: selector } }, { name });
}

function createMirrors(source: unknown, mirrors: unknown): Json {
  return createObject('config.openshift.io/v1', 'ImageDigestMirrorSet', {
    spec: { imageDigestMirrors: [{ source, mirrors }] },
  });
}

interface FieldInput {
  readonly id: string;
  /** Of the real bootstrap of 4.20: the beginnings of the rendered names, or `fails`. */
  readonly bootstrap: string;
  /** Whether the API accepted the first documents in a dry run. */
  readonly api: 'accepts' | 'rejects' | 'unknown';
  readonly problems: readonly string[];
  readonly files: Readonly<Record<string, string | { readonly base64: string }>>;
}

// Manifests from public reports, rebuilt. The real machine-config-controller 4.20 and API server 1.33 judged them.
const INPUTS = readFileSync(path.join(import.meta.dirname, 'field-inputs.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as FieldInput);
/** Why the verdict is not that of the bootstrap and the API alone. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'N22-butane': 'no installer copies the Butane file to the bootstrap host',
  'N54-idms-itms-one-file': 'the cluster gets only the first document, so the names differ',
  'N55-list': 'cluster-bootstrap rejects a list, and then creates nothing',
  'N56-same-name-two-roles': 'the cluster gets only the first object, so the names differ',
  'N82-helm-output': 'cluster-bootstrap rejects an empty first document, and then creates nothing',
  R30: 'the cluster gets only the first document, so the names differ',
};

test.each(INPUTS)(
  'judges $id like the bootstrap and the API',
  async ({ id, bootstrap, api, files, problems: expected }) => {
    const directory = createTemporaryDirectory();
    writeFiles(
      directory,
      Object.fromEntries(
        Object.entries(files).map(([file, content]) => [
          file,
          typeof content === 'string' ? content : Buffer.from(content.base64, 'base64'),
        ]),
      ),
    );
    const { problems } = await findProblems(readManifests(directory, new AbortController().signal));
    const isUnsafe = bootstrap === 'fails' || api === 'rejects';
    const hasError = problems.some(({ severity }) => severity === 'error');
    expect(hasError !== isUnsafe).toBe(id in EXCEPTIONS);
    expect(problems.map(({ severity, code, file, line }) => `${severity} ${code} ${file}:${line}`)).toEqual(expected);
  },
);

// Each was fine or not for the real bootstrap, and for the API server with the CRDs of OpenShift.
test.each<[code: string, harmless: readonly (Json | string)[], harmful: readonly (Json | string)[]]>([
  [
    'error ButaneObject',
    [createObject('v1', 'Namespace')],
    ['variant: openshift\nversion: 4.18.0\nmetadata: {name: a}\n'],
  ],
  [
    'error ClientKind',
    [createObject('ran.example.com/v1', 'SiteConfig')],
    [
      { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Kustomization' },
      createObject('v1alpha1', 'AgentConfig'),
      createObject('agent-install.openshift.io/v1beta1', 'NMStateConfig'),
      createObject('siteconfig.open-cluster-management.io/v1alpha1', 'ClusterInstance'),
      { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' },
    ],
  ],
  ['error ObjectList', [createObject('example.com/v1', 'AllowList')], [{ apiVersion: 'v1', kind: 'List', items: [] }]],
  [
    'error IncompleteObject',
    [],
    [
      'a\n',
      '- a\n',
      { kind: 'A', metadata: { name: 'a' } },
      createObject('v1', ''),
      createObject('v1', 'A', {}, { name: '' }),
      'apiVersion: v1\nkind: A\nmetadata:\n',
    ],
  ],
  [
    'error EmptyDocument',
    ['---\na: {b\n'],
    ['', '# a\n', '---\n# a\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n'],
  ],
  [
    'error UnknownKind',
    [createObject('authorization.openshift.io/v1', 'Role'), createObject(`${MCO}/v1alpha1`, 'MachineOSConfig')],
    [
      { ...createConfig({}), apiVersion: `${MCO}/v1beta1` },
      { ...createConfig({}), apiVersion: 'machineconfig.openshift.io/v1' },
      { ...createConfig({}), kind: 'machineconfig' },
      createObject('v1', 'Configmap'),
      createObject('apps/v1beta1', 'Deployment'),
    ],
  ],
  [
    'error InvalidName',
    [
      createObject('rbac.authorization.k8s.io/v1', 'ClusterRole', {}, { name: 'system:A_b' }),
      createConfig({}, { name: 'a.b-1' }),
      createObject('v1', 'Namespace', {}, { labels: { 'ex.com/A_b.c': '' }, annotations: { 'Ex.com/a': 'b c' } }),
    ],
    [
      ...['99_a', '99-Worker', '-a', 'a..b', 'a'.repeat(254), '99-${ROLE}'].map((name) => createConfig({}, { name })),
      createObject('v1', 'Namespace', {}, { name: 'a.b' }),
      ...[{ a: 'b c' }, { 'a b': '' }, { a: 'x'.repeat(64) }, { 'Ex.com/a': '' }].map((labels) =>
        createObject('v1', 'Namespace', {}, { labels }),
      ),
      createObject('v1', 'Namespace', {}, { annotations: { 'a b': '' } }),
    ],
  ],
  [
    'error NotAString',
    [createConfig({ osImageURL: null }, { annotations: { a: null, b: '1' } })],
    [
      createConfig({ osImageURL: 5 }),
      createConfig({}, { annotations: { a: 12 } }),
      createConfig({}, { name: 5 }),
      createConfig({ kernelArguments: [true] }),
    ],
  ],
  [
    'error InvalidValue',
    [
      createConfig({ fips: true, kernelArguments: ['a=1'] }),
      createSelecting('KubeletConfig', {
        logLevel: 10,
        kubeletConfig: { maxPods: 5, syncFrequency: '1m30s', evictionHard: { a: '5%' }, other: 1 },
      }),
      createSelecting('ContainerRuntimeConfig', {
        containerRuntimeConfig: { pidsLimit: 0, logSizeMax: '8193', overlaySize: '1.5Gi', logLevel: 'warn' },
      }),
      createMirrors('*.quay.io', ['localhost:5000/a', 'a.example.com']),
      createObject('v1', 'Secret', { data: { a: 'YQ==\n' }, stringData: { b: 'c d' } }, { namespace: 'default' }),
    ],
    [
      ...[
        { fips: 'true' },
        { kernelArguments: 'a=1' },
        { kernelArguments: [{ a: 1 }] },
        { kernelArguments: [null] },
        { config: 'x' },
        [],
      ].map((spec) => createConfig(spec)),
      createConfig({}, { labels: ['a'] }),
      ...[
        { logLevel: 0 },
        { autoSizingReserved: true, kubeletConfig: { systemReserved: { cpu: '1' } } },
        { tlsSecurityProfile: { type: 'a' } },
      ].map((spec) => createSelecting('KubeletConfig', spec)),
      ...[
        { maxPods: 'abc' },
        { maxPods: 1.5 },
        { syncFrequency: 5 },
        { cgroupDriver: 'systemd' },
        { clusterDNS: ['192.0.2.1'] },
        { featureGates: { a: true } },
        { failSwapOn: 'abc' },
        [],
      ].map((kubeletConfig) => createSelecting('KubeletConfig', { kubeletConfig })),
      ...[
        { pidsLimit: 19 },
        { logSizeMax: '8k' },
        { logSizeMax: '10MB' },
        { overlaySize: '-1' },
        { logLevel: 'warning' },
        { defaultRuntime: 'kata' },
        null,
      ].map((containerRuntimeConfig) => createSelecting('ContainerRuntimeConfig', { containerRuntimeConfig })),
      createObject(`${MCO}/v1`, 'KubeletConfig'),
      ...['https://quay.io', 'quay.io/a:1', '*.quay.io/a', 'quay.io/A', '', null].map((source) =>
        createMirrors(source, ['a.example.com']),
      ),
      ...['http://a.b', '*.a.b', 'a.b/c@sha256:0', '${MIRROR}/a'].map((mirror) => createMirrors('quay.io', [mirror])),
      createPool({ matchExpressions: [{ key: ROLE, operator: 'Is', values: ['a'] }] }),
      createPool({ matchExpressions: [{ key: ROLE, operator: 'In' }] }),
      createObject('v1', 'Secret', { data: { a: 'plain text' } }, { namespace: 'default' }),
      createObject('v1', 'ConfigMap', { data: ['a'] }, { namespace: 'default' }),
    ],
  ],
  [
    'error InvalidContents',
    [
      ...['data:;base64,YQ==', 'data:text/plain;charset=utf-8,a%20b', 'https://example.com/a', '', null].map((source) =>
        createFile({ contents: { source } }),
      ),
      createFile({ path: '/', mode: 0o7777 }),
      createFile({ path: '/a', Mode: 1 }, '3.5.0'),
      createConfig({
        config: { ignition: { version: '2.2.0' }, storage: { files: [{ ...FILE, filesystem: 'root' }] } },
        kernelType: '64k-pages',
        extensions: ['ipsec'],
      }),
      createIgnition({
        storage: { files: null },
        Systemd: { units: [{ name: 'a@.timer', enabled: true, dropins: [{ name: 'a.conf' }] }] },
      }),
    ],
    [
      ...['etc/a', '/a/../b', '/a//b', '/a/', '', null, 5].map((file) => createFile({ path: file })),
      ...['0644', 1.5, -1, 0o10000].map((mode) => createFile({ mode })),
      ...[
        'a',
        'ftp://a',
        'data:',
        'data:,a b',
        'data:,a%2',
        'data:,a#b',
        'data:;base64,YQ',
        'data:;utf8,a',
        '${A}',
      ].map((source) => createFile({ contents: { source } })),
      createFile({ contents: { source: 'data:,a', compression: 'zstd' } }),
      createFile({ user: { id: 0, name: 'root' } }),
      ...[
        { units: {} },
        { units: [{ name: 'a' }] },
        { units: [{ name: 'a.service', enabled: 'true' }] },
        { units: [{ name: 'a.service', dropins: [{ name: 'a' }] }] },
      ].map((systemd) => createIgnition({ systemd })),
      createIgnition({ storage: { links: [{ path: '/a' }] } }),
      createIgnition({ Storage: { files: [{ path: 'a' }] } }),
      createConfig({ kernelType: 'rt' }),
      createConfig({ config: { ignition: { version: '3.2.0' } }, extensions: ['none'] }),
      createConfig({ config: {} }),
    ],
  ],
  [
    'error DuplicateEntry',
    [createIgnition({ storage: { files: [FILE, FILE].map((file) => ({ ...file, filesystem: 'root' })) } }, '2.2.0')],
    [
      createIgnition({ storage: { files: [FILE, FILE] } }),
      createIgnition({ storage: { files: [FILE], links: [{ path: FILE.path, target: '/b' }] } }),
      createIgnition({ systemd: { units: [{ name: 'a.service' }, { name: 'a.service' }] } }),
      createIgnition({ passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['a', 'a'] }] } }),
    ],
  ],
  [
    'error UnsupportedIgnition',
    [createIgnition({}, '2.2.0'), createIgnition({}, '3.4.0'), createConfig({ config: null })],
    ['3.6.0', '3.4', 3.4, 'VERSION', '', null, '3.5.0-experimental'].map((version) => createIgnition({}, version)),
  ],
  ['warning IgnitionRelease', [createIgnition({}, '3.4.0')], [createIgnition({}, '3.5.0')]],
  [
    'error CopiedConfig',
    [createConfig({}, { annotations: { [`${MCO}/generated-by-controller-version`]: '' } })],
    [createConfig({}, { annotations: { [`${MCO}/generated-by-controller-version`]: 'a' } })],
  ],
  ['error RenderedName', [], [createConfig({}, { name: 'rendered-worker-1' })]],
  [
    'error OperatorName',
    ['00-worker-a', '99-worker-generated-kubelet', '99-infra-generated-registries', '01-worker'].map((name) =>
      createConfig({}, { name }),
    ),
    [
      '00-worker',
      '01-master-kubelet',
      '01-worker-container-runtime',
      '97-worker-generated-kubelet',
      '98-master-generated-kubelet',
      '99-master-generated-registries',
    ].map((name) => createConfig({}, { name })),
  ],
  [
    'warning MissingRole',
    [createConfig({}, { name: 'rendered-worker-1', labels: {} })],
    [createConfig({}, { labels: {} }), createConfig({}, { labels: undefined })],
  ],
  ['warning NoPool', [createConfig({})], [createConfig({}, { labels: { [ROLE]: 'workers' } })]],
  [
    'error BuiltInPool',
    [createPool({ matchLabels: { [ROLE]: 'worker' } })],
    [createPool({ matchLabels: { [ROLE]: 'worker' } }, 'worker')],
  ],
  [
    'error EmptyPool',
    [
      createPool({ matchLabels: { [ROLE]: 'infra' } }),
      createPool({ matchExpressions: [{ key: ROLE, operator: 'NotIn', values: ['master'] }] }),
    ],
    [createPool({}), createPool(undefined), createPool({ matchLabels: { [ROLE]: 'none' } })],
  ],
  [
    'warning EmptyRole',
    [createPool({ matchExpressions: [{ key: ROLE, operator: 'In', values: ['worker', 'infra'] }] })],
    [createPool({ matchLabels: { [ROLE]: 'infra' } })],
  ],
  [
    'warning UnselectedPool',
    [createSelecting('KubeletConfig', {})],
    [createSelecting('KubeletConfig', {}, 'workers'), createObject(`${MCO}/v1`, 'KubeletConfig', { spec: {} })],
  ],
  [
    'error NoNamespace',
    [createObject('v1', 'ConfigMap', {}, { namespace: 'default' }), createObject('v1', 'Namespace')],
    [createObject('v1', 'ConfigMap'), createObject('apps/v1', 'Deployment')],
  ],
  [
    'error MissingNamespace',
    [createObject('v1', 'ConfigMap', {}, { namespace: 'kube-system' }), createConfig({}, { namespace: 'lab' })],
    [createObject('v1', 'ConfigMap', {}, { namespace: 'lab' })],
  ],
  [
    'warning NewNamespace',
    [createObject('v1', 'ConfigMap', {}, { namespace: 'openshift-config' })],
    [createObject('v1', 'ConfigMap', {}, { namespace: 'openshift-lab' })],
  ],
  [
    'warning Placeholder',
    [
      createIgnition({
        systemd: { units: [{ name: 'a.service', contents: '[Service]\nExecStart=/a ${B} $CC {{d}} <e>\n' }] },
      }),
      createFile({ contents: { source: 'data:,a%20${B}' } }),
    ],
    [
      createConfig({ kernelArguments: ['a=${B}'] }),
      createConfig({ osImageURL: '<image>' }),
      createFile({ contents: { source: 'data:,$CONTENT' } }),
      createFile({ path: '/etc/{{ a }}' }),
    ],
  ],
  [
    'warning UnknownField',
    [createConfig({ kernelArguments: ['a'] }, {}), { 'x-a': 1, ...createConfig({}) }],
    [createConfig({ kernelArgs: ['a'] }), { ...createConfig(null), config: {} }, createFile({ content: {} })],
  ],
  ['warning DuplicateKey', ['a: {b: 1}\nc: {b: 1}\n'], ['a: 1\na: 2\n', 'a:\n  b: 1\n  b: 1\n']],
])('reports %s', async (code, harmless, harmful) => {
  const isFound = async (content: Json | string) => [content, (await find({ 'a.yaml': content })).includes(code)];
  for (const content of harmless) expect(await isFound(content)).toEqual([content, false]);
  for (const content of harmful) expect(await isFound(content)).toEqual([content, true]);
});

const MIRRORS = createMirrors('quay.io', ['a.example.com']);
const KUBELET = createSelecting('KubeletConfig', { kubeletConfig: { maxPods: 5 } });
const NAMESPACED = createObject('v1', 'ConfigMap', {}, { namespace: 'lab' });
const ICSP = createObject('operator.openshift.io/v1alpha1', 'ImageContentSourcePolicy', { spec: {} }, { name: 'b' });

test.each<[what: string, files: Files, problems: readonly string[]]>([
  [
    'a second render input',
    { 'a.yaml': stringify(MIRRORS) + '---\n' + stringify(KUBELET) },
    ['error MultipleDocuments'],
  ],
  [
    'another second document',
    {
      'a.yaml': ['a', 'b'].map((name) => stringify(createObject('v1', 'Namespace', {}, { name }))).join('---\n'),
    },
    ['warning MultipleDocuments'],
  ],
  ['one object in two files', { 'a.yaml': MIRRORS, 'b.yaml': MIRRORS }, ['error DuplicateObject']],
  [
    'one name for two roles',
    {
      'a.yaml': createFile({}),
      'b.yaml': { ...createFile({}), metadata: { name: '99-worker-a', labels: { [ROLE]: 'master' } } },
    },
    ['error DuplicateObject'],
  ],
  ['an empty config twice', { 'a.yaml': createFile({}), 'b.yaml': createIgnition({}) }, ['warning DuplicateObject']],
  ['equal configs', { 'a.yaml': createConfig({}), 'b.yaml': createConfig({}) }, []],
  [
    'equal configs with kernel arguments',
    { 'a.yaml': createConfig({ kernelArguments: ['a'] }), 'b.yaml': createConfig({ kernelArguments: ['a'] }) },
    ['error DuplicateObject'],
  ],
  [
    'another object twice',
    { 'a.yaml': createObject('v1', 'Namespace'), 'b.yaml': createObject('v1', 'Namespace') },
    ['warning DuplicateObject'],
  ],
  ['a hidden file', { 'openshift/.a.yaml': createObject('v1', 'Namespace') }, ['error HiddenFile']],
  [
    'two KubeletConfigs for a pool',
    { 'a.yaml': KUBELET, 'b.yaml': createSelecting('KubeletConfig', {}, 'worker', 'b') },
    ['error MultipleConfigs', 'error MultipleConfigs'],
  ],
  [
    'KubeletConfigs that select a pool by different labels',
    {
      'a.yaml': KUBELET,
      'b.yaml': createObject(
        `${MCO}/v1`,
        'KubeletConfig',
        { spec: { machineConfigPoolSelector: { matchLabels: { [`${MCO}/mco-built-in`]: '' } } } },
        { name: 'b' },
      ),
    },
    ['error MultipleConfigs', 'error MultipleConfigs'],
  ],
  [
    'KubeletConfigs for two pools',
    { 'a.yaml': KUBELET, 'b.yaml': createSelecting('KubeletConfig', {}, 'master', 'b') },
    [],
  ],
  [
    'the name of a generated config beside its cause',
    { 'a.yaml': KUBELET, 'b.yaml': createConfig({}, { name: '99-worker-generated-kubelet' }) },
    ['error OperatorName'],
  ],
  [
    'the name of a generated config of another pool',
    { 'a.yaml': KUBELET, 'b.yaml': createConfig({}, { name: '99-master-generated-kubelet' }) },
    [],
  ],
  [
    'a pool that selects configs without labels',
    {
      'a.yaml': createPool({ matchExpressions: [{ key: ROLE, operator: 'NotIn', values: ['master'] }] }),
      'b.yaml': createConfig({}, { labels: undefined }),
    },
    ['error UnlabeledConfig', 'warning MissingRole'],
  ],
  [
    'the contents of a config that a custom pool selects',
    {
      'a.yaml': createPool({ matchLabels: { [ROLE]: 'infra' } }),
      'b.yaml': createConfig({ kernelType: 'rt' }, { labels: { [ROLE]: 'infra' } }),
    },
    ['error InvalidContents', 'warning EmptyRole'],
  ],
  [
    'the contents of a config that no pool selects',
    { 'a.yaml': createConfig({ kernelType: 'rt' }, { labels: { [ROLE]: 'infra' } }) },
    ['warning NoPool', 'warning InvalidContents'],
  ],
  [
    'kernel-devel beside another kernel',
    {
      'a.yaml': createConfig({ extensions: ['kernel-devel'] }),
      'b.yaml': createConfig({ kernelType: 'realtime' }, { name: 'b' }),
    },
    ['error KernelDevel'],
  ],
  [
    'kernel-devel and another kernel for two pools',
    {
      'a.yaml': createConfig({ extensions: ['kernel-devel'] }),
      'b.yaml': createConfig({ kernelType: 'realtime' }, { name: 'b', labels: { [ROLE]: 'master' } }),
    },
    [],
  ],
  [
    'a namespace in another file',
    { 'a.yaml': NAMESPACED, 'b.yaml': createObject('v1', 'Namespace', {}, { name: 'lab' }) },
    [],
  ],
  [
    'a text without a last line feed',
    { 'a.yaml': stringify(createConfig({ osImageURL: 'a\n' })).trimEnd() },
    ['error DifferentReading'],
  ],
  [
    'a key of JSON twice',
    { 'a.json': '{"apiVersion": "v1", "kind": "A", "kind": "Namespace", "metadata": {"name": "a"}}' },
    ['warning DifferentReading'],
  ],
  [
    'JSON that is no YAML',
    { 'a.json': '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"a"\n: "b"}}}' },
    ['error UnparsableInCluster'],
  ],
  ['each document that does not parse', { 'a.yaml': 'a: [\n---\nb: {\n' }, ['error Unparsable', 'error Unparsable']],
])('judges %s', async (_what, files, problems) => {
  expect(await find(files)).toEqual(problems);
});

const CGROUP_V1 = createObject('config.openshift.io/v1', 'Node', { spec: { cgroupMode: 'v1' } });
const RUNC = createSelecting('ContainerRuntimeConfig', { containerRuntimeConfig: { defaultRuntime: 'runc' } });
const IMAGE_POLICY = createObject('config.openshift.io/v1', 'ClusterImagePolicy');
const OS_CONFIG = createObject(`${MCO}/v1`, 'MachineOSConfig', { spec: {} });

test.each<[release: string | undefined, objects: readonly Json[], problems: readonly string[]]>([
  ['4.18', [createIgnition({}, '3.5.0')], ['error IgnitionRelease']],
  ['4.19', [createIgnition({}, '3.5.0')], []],
  ['4.9', [createIgnition({}, '3.4.0')], ['error OldIgnitionRelease']],
  ['4.19', [CGROUP_V1], []],
  ['4.20', [CGROUP_V1], ['error CgroupRelease']],
  [undefined, [CGROUP_V1], ['warning CgroupRelease']],
  ['4.14', [MIRRORS, ICSP], ['error MirrorRelease']],
  ['4.15', [MIRRORS, ICSP], []],
  ['4.19', [IMAGE_POLICY], ['error PolicyRelease']],
  ['4.20', [OS_CONFIG], []],
  ['4.21', [OS_CONFIG], ['error PrebuiltRelease']],
  ['5.0', [RUNC], ['error RuntimeRelease']],
  [undefined, [RUNC], ['warning RuntimeRelease']],
])('judges for release %s', async (release, objects, problems) => {
  const files = Object.fromEntries(objects.map((object, index) => [`${index}.yaml`, object]));
  expect(await find(files, release)).toEqual(problems);
});

test.each([
  ['config.openshift.io/v1', 'DNS', '', 'cluster-dns-02-config.yml'],
  ['config.openshift.io/v1', 'Infrastructure', '', 'cluster-infrastructure-02-config.yml'],
  ['config.openshift.io/v1', 'Network', '', 'cluster-network-02-config.yml'],
  ['config.openshift.io/v1', 'Proxy', '', 'cluster-proxy-01-config.yaml'],
  ['v1', 'ConfigMap', 'openshift-config', 'user-ca-bundle-config.yaml'],
])('warns about %s %s in another file than that of the installer', async (apiVersion, kind, namespace, file) => {
  const metadata = kind === 'ConfigMap' ? { name: 'user-ca-bundle', namespace } : { name: 'cluster' };
  const object = createObject(apiVersion, kind, {}, metadata);
  expect(await find({ [`manifests/${file}`]: object })).toEqual([]);
  expect(await find({ 'openshift/99-x.yaml': object })).toEqual(['warning OnlyInCluster']);
});

test.each([
  ...['InternalReleaseImage', 'ControllerConfig', 'OSImageStream'].map((kind) => [`${MCO}/v1`, kind]),
  ...['FeatureGate', 'Image', 'ImageTagMirrorSet', 'Node', 'APIServer', 'ImagePolicy', 'Proxy'].map((kind) => [
    'config.openshift.io/v1',
    kind,
  ]),
  ['operator.openshift.io/v1alpha1', 'ImageContentSourcePolicy'],
  ['performance.openshift.io/v2', 'PerformanceProfile'],
])('knows that configs are rendered from %s %s', async (apiVersion = '', kind = '') => {
  const text = `${stringify(createObject('v1', 'Namespace'))}---\n${stringify(createObject(apiVersion, kind))}`;
  expect(await find({ 'a.yaml': text })).toContain('error MultipleDocuments');
});

test('puts errors first, and names the object, its line and what to do', async () => {
  const config = createFile({ path: 'etc/a' });
  const { problems } = await findAll({
    'openshift/a.yaml': createPool({ matchLabels: { [ROLE]: 'infra' } }),
    'openshift/b.yaml': config,
  });
  expect(problems).toEqual([
    {
      severity: 'error',
      code: 'InvalidContents',
      file: 'openshift/b.yaml',
      line: 13,
      kind: 'MachineConfig',
      name: '99-worker-a',
      message:
        'spec.config.storage.files[0].path must be an absolute path without "..", "//" or "/" at its end: ' +
        'the bootstrap host fails',
      advice: 'correct the value',
    },
    expect.objectContaining({ severity: 'warning', code: 'EmptyRole' }),
  ]);
});

test('reports untrusted text as one printable line, and nothing of the values', async () => {
  const labels = { [ROLE]: 'master', '\u0007\n': 5_318_008 };
  const { problems } = await findAll({
    'openshift/\u001B[2J\n\u202E.yaml': createConfig({}, { name: 'a\u001B[31m\u202Eb', labels }),
  });
  expect(problems[0]).toMatchObject({ file: 'openshift/ [2J .yaml', name: 'a [31m b' });
  expect(JSON.stringify(problems)).not.toMatch(/5318008|\p{C}/u);
});

test('has a finder for each rule, and a rule for each finder', () => {
  const finders = [
    ...Object.keys(FILE_FINDERS),
    ...Object.keys(FINAL_FINDERS),
    ...OBJECT_FINDERS.map(([code]) => code),
  ];
  const others = ['ButaneFile', 'DuplicateFileName', 'EarlyDirectory', 'IgnoredDirectory', 'IgnoredFile'].concat(
    'MultipleDocuments',
    'DifferentReading',
    'DuplicateEntry',
    'InvalidContents',
    'InvalidName',
    'InvalidValue',
    'NotAString',
    'UnknownField',
    'RenderFails',
    'RendersDiffer',
  );
  expect([...RULES.keys()].toSorted()).toEqual([...finders, ...others].toSorted());
});

test.each([
  [
    'values',
    Array.from({ length: 11 }, () => `a: [${'a,'.repeat(50_000)}]`),
    /^\d+\.yaml and the files before it have too many values$/,
  ],
  ['documents', ['---\n'.repeat(1_001)], /^0\.yaml has more than 1000 documents$/],
  ['problems', Array.from({ length: 11 }, () => 'a\n---\n'.repeat(999)), /^\d+\.yaml .* too many problems$/],
])('rejects a directory with too many %s', async (_what, texts, message) => {
  await expect(find(Object.fromEntries(texts.map((text, index) => [`${index}.yaml`, text])))).rejects.toThrow(message);
});
