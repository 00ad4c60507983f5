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

/** A copy of an object with another value at a path. */
function change(object: Json, fields: string, value: unknown): Json {
  const [first = '', ...rest] = fields.split('/');
  const copy: Json = Object.assign(Array.isArray(object) ? [] : {}, object);
  const inner: unknown = copy[first] ?? (rest[0] === '0' ? [] : {});
  copy[first] = rest.length === 0 ? value : change(inner as Json, rest.join('/'), value);
  return copy;
}

const CONFIG = createFile({});
const IGNITION = createIgnition({});
const IGNITION_2 = createIgnition({}, '2.2.0');
const KUBELET_CONFIG = createSelecting('KubeletConfig', {});
const RUNTIME_CONFIG = createSelecting('ContainerRuntimeConfig', {});
const POOL = createPool({ matchLabels: { [ROLE]: 'worker' } });
const NAMESPACE = createObject('v1', 'Namespace');
const CONFIG_MAP = createObject('v1', 'ConfigMap', {}, { namespace: 'default' });
const SECRET = createObject('v1', 'Secret', {}, { namespace: 'default' });
const CLUSTER_ROLE = createObject('rbac.authorization.k8s.io/v1', 'ClusterRole');
const IDMS = createMirrors('quay.io', ['a.example.com']);
const FILE_2 = { ...FILE, filesystem: 'root' };
const KUBELET_FAULTS = [{ maxPods: 'abc' }, { maxPods: 1.5 }, { syncFrequency: 5 }, { failSwapOn: 'abc' }, []];
/** What an install cannot set. */
const KUBELET_UNSET = [{ cgroupDriver: 'systemd' }, { clusterDNS: ['192.0.2.1'] }, { featureGates: { a: true } }];
const RESERVED = { autoSizingReserved: true, kubeletConfig: { systemReserved: { cpu: '1' } } };
const GENERATED = `${MCO}/generated-by-controller-version`;
const FILES = 'spec/config/storage/files';
const MIRRORS_0 = 'spec/imageDigestMirrors/0';
const OPERATOR_NAMES = ['00-worker', '01-master-kubelet', '01-worker-container-runtime', '97-worker-generated-kubelet'];
const OPERATOR_NAMES_99 = ['99-master-generated-registries', '98-master-generated-kubelet'];
const IN = { key: ROLE, operator: 'In', values: ['worker', 'infra'] };
const NO_LABELS = { matchLabels: { a: '' } };
const NOT_IN = { key: ROLE, operator: 'NotIn', values: ['master'] };
const BAD_SOURCES = ['a', 'ftp://a', 'data:', 'data:,a b', 'data:,a%2', 'data:,a#b', 'data:;base64,YQ', 'data:;utf8,a'];
const SOURCES = ['data:;base64,YQ==', 'data:text/plain;charset=utf-8,a%20b', 'https://example.com/a', '', null];
const UNITS = [{ name: 'a@.timer', enabled: true, dropins: [{ name: 'a.conf' }] }];
const SCRIPT = { units: [{ name: 'a.service', contents: '[Service]\nExecStart=/a ${B} $CC {{d}} <e>\n' }] };

// Each was fine or not for the real bootstrap, and for the API server with the CRDs of OpenShift.
test.each<[code: string, object: Json, field: string, harmless: readonly unknown[], harmful: readonly unknown[]]>([
  ['error UnknownKind', CONFIG, 'apiVersion', [], [`${MCO}/v1beta1`, 'machineconfig.openshift.io/v1']],
  ['error UnknownKind', CONFIG, 'kind', [], ['machineconfig']],
  ['error UnknownKind', createObject(`${MCO}/v1`, 'MachineOSConfig'), 'apiVersion', [`${MCO}/v1alpha1`], []],
  ['error UnknownKind', CONFIG_MAP, 'kind', [], ['Configmap']],
  ['error UnknownKind', createObject('', 'Deployment'), 'apiVersion', ['apps/v1'], ['apps/v1beta1']],
  ['error UnknownKind', createObject('', 'Role'), 'apiVersion', ['authorization.openshift.io/v1'], []],
  ['error InvalidName', CLUSTER_ROLE, 'metadata/name', ['system:A_b'], []],
  ['error InvalidName', CONFIG, 'metadata/name', ['a.b-1'], ['99_a', '99-Worker', '-a', 'a..b', '99-${ROLE}']],
  ['error InvalidName', CONFIG, 'metadata/name', [], ['a'.repeat(254)]],
  ['error InvalidName', NAMESPACE, 'metadata/name', ['a'], ['a.b']],
  ['error InvalidName', NAMESPACE, 'metadata/labels', [{ 'ex.com/A_b.c': '' }], [{ a: 'b c' }, { 'Ex.com/a': '' }]],
  ['error InvalidName', NAMESPACE, 'metadata/labels', [], [{ 'a b': '' }, { a: 'x'.repeat(64) }]],
  ['error InvalidName', NAMESPACE, 'metadata/annotations', [{ 'Ex.com/a': 'b c' }], [{ 'a b': '' }]],
  ['error NotAString', CONFIG, 'spec/osImageURL', [null], [5]],
  ['error NotAString', CONFIG, 'metadata/annotations', [{ a: null, b: '1' }], [{ a: 12 }]],
  ['error NotAString', CONFIG, 'metadata/name', [], [5]],
  ['error NotAString', CONFIG, 'spec/kernelArguments', [], [[true]]],
  ['error InvalidValue', CONFIG, 'spec/kernelArguments', [['a=1']], ['a=1', [{ a: 1 }], [null]]],
  ['error InvalidValue', CONFIG, 'spec/fips', [true], ['true']],
  ['error InvalidValue', CONFIG, 'spec/config', [], ['x']],
  ['error InvalidValue', CONFIG, 'spec', [], [[]]],
  ['error InvalidValue', CONFIG, 'metadata/labels', [], [['a']]],
  ['error InvalidValue', KUBELET_CONFIG, 'spec/logLevel', [10], [0]],
  ['error InvalidValue', KUBELET_CONFIG, 'spec/tlsSecurityProfile', [{ type: 'Old' }], [{ type: 'a' }]],
  ['error InvalidValue', KUBELET_CONFIG, 'spec', [], [undefined, RESERVED]],
  ['error InvalidValue', KUBELET_CONFIG, 'spec/kubeletConfig', [{ syncFrequency: '1m30s' }], KUBELET_FAULTS],
  ['error InvalidValue', KUBELET_CONFIG, 'spec/kubeletConfig', [{ maxPods: 5, other: 1 }], KUBELET_UNSET],
  ['error InvalidValue', RUNTIME_CONFIG, 'spec/containerRuntimeConfig', [{}], [null]],
  ['error InvalidValue', RUNTIME_CONFIG, 'spec/containerRuntimeConfig/pidsLimit', [0], [19]],
  ['error InvalidValue', RUNTIME_CONFIG, 'spec/containerRuntimeConfig/logSizeMax', ['8193'], ['8k', '10MB']],
  ['error InvalidValue', RUNTIME_CONFIG, 'spec/containerRuntimeConfig/overlaySize', ['1.5Gi'], ['-1']],
  ['error InvalidValue', RUNTIME_CONFIG, 'spec/containerRuntimeConfig/logLevel', ['warn'], ['warning']],
  ['error InvalidValue', RUNTIME_CONFIG, 'spec/containerRuntimeConfig/defaultRuntime', ['runc'], ['kata']],
  ['error InvalidValue', IDMS, `${MIRRORS_0}/source`, ['*.quay.io'], ['https://quay.io', 'quay.io/a:1', '', null]],
  ['error InvalidValue', IDMS, `${MIRRORS_0}/source`, [], ['*.quay.io/a', 'quay.io/A']],
  ['error InvalidValue', IDMS, `${MIRRORS_0}/mirrors/0`, ['localhost:5000/a'], ['http://a.b', '*.a.b']],
  ['error InvalidValue', IDMS, `${MIRRORS_0}/mirrors/0`, [], ['${MIRROR}/a', 'a.b/c@sha256:0']],
  ['error InvalidValue', POOL, 'spec/machineConfigSelector/matchExpressions/0', [IN], [{ ...IN, operator: 'Is' }]],
  ['error InvalidValue', POOL, 'spec/machineConfigSelector/matchExpressions/0', [], [{ ...IN, values: [] }]],
  ['error InvalidValue', SECRET, 'data', [{ a: 'YQ==\n' }], [{ a: 'plain text' }]],
  ['error InvalidValue', SECRET, 'stringData', [{ b: 'c d' }], []],
  ['error InvalidValue', CONFIG_MAP, 'data', [{ a: 'b' }], [['a']]],
  ['error InvalidContents', CONFIG, `${FILES}/0/contents/source`, SOURCES, [...BAD_SOURCES, '${A}']],
  ['error InvalidContents', CONFIG, `${FILES}/0/contents/compression`, ['gzip', ''], ['zstd']],
  ['error InvalidContents', CONFIG, `${FILES}/0/path`, ['/'], ['etc/a', '/a/../b', '/a//b', '/a/', '', null, 5]],
  ['error InvalidContents', CONFIG, `${FILES}/0/mode`, [0o7777], ['0644', 1.5, -1, 0o10000]],
  ['error InvalidContents', CONFIG, `${FILES}/0`, [{ path: '/a', Mode: 1 }], [{ path: '/a', Mode: 'a' }]],
  ['error InvalidContents', CONFIG, `${FILES}/0/user`, [{ id: 0 }], [{ id: 0, name: 'root' }]],
  ['error InvalidContents', IGNITION_2, 'spec/config/storage/files', [[FILE_2], null], [[FILE]]],
  ['error InvalidContents', IGNITION, 'spec/config/Systemd/units', [UNITS], [{}, [{ name: 'a' }]]],
  ['error InvalidContents', IGNITION, 'spec/config/systemd/units/0', [], [{ name: 'a.service', enabled: 'true' }]],
  [
    'error InvalidContents',
    IGNITION,
    'spec/config/systemd/units',
    [],
    [[{ name: 'a.service', dropins: [{ name: 'a' }] }]],
  ],
  ['error InvalidContents', IGNITION, 'spec/config/storage/links/0', [{ path: '/a', target: '/b' }], [{ path: '/a' }]],
  ['error InvalidContents', IGNITION, 'spec/config/Storage/files/0', [], [{ path: 'a' }]],
  ['error InvalidContents', CONFIG, 'spec/kernelType', ['64k-pages'], ['rt']],
  ['error InvalidContents', CONFIG, 'spec/extensions', [['ipsec']], [['none']]],
  ['error InvalidContents', CONFIG, 'spec/config', [null], [{}]],
  ['error DuplicateEntry', CONFIG, FILES, [[FILE]], [[FILE, FILE]]],
  ['error DuplicateEntry', IGNITION_2, FILES, [[FILE_2, FILE_2]], []],
  ['error DuplicateEntry', CONFIG, 'spec/config/storage/links', [], [[{ path: FILE.path, target: '/b' }]]],
  ['error DuplicateEntry', CONFIG, 'spec/config/systemd/units', [], [[{ name: 'a.service' }, { name: 'a.service' }]]],
  ['error DuplicateEntry', CONFIG, 'spec/config/passwd/users', [], [[{ name: 'core', sshAuthorizedKeys: ['a', 'a'] }]]],
  ['error UnsupportedIgnition', CONFIG, 'spec/config/ignition/version', ['2.2.0', '3.4.0'], ['3.6.0', '3.4', 3.4, '']],
  ['error UnsupportedIgnition', CONFIG, 'spec/config/ignition/version', [], ['VERSION', null, '3.5.0-experimental']],
  ['error UnsupportedIgnition', CONFIG, 'spec/config', [null], []],
  ['warning IgnitionRelease', CONFIG, 'spec/config/ignition/version', ['3.4.0'], ['3.5.0']],
  ['error CopiedConfig', CONFIG, 'metadata/annotations', [{ [GENERATED]: '' }], [{ [GENERATED]: 'a' }]],
  ['error RenderedName', CONFIG, 'metadata/name', ['99-rendered'], ['rendered-worker-1']],
  ['error OperatorName', CONFIG, 'metadata/name', ['00-worker-a', '01-worker'], OPERATOR_NAMES],
  ['error OperatorName', CONFIG, 'metadata/name', ['99-infra-generated-registries'], OPERATOR_NAMES_99],
  ['error OperatorName', CONFIG, 'metadata/name', ['99-worker-generated-kubelet'], []],
  ['warning MissingRole', CONFIG, 'metadata/labels', [{ [ROLE]: 'a' }], [{}, undefined]],
  ['warning MissingRole', CONFIG, 'metadata', [{ name: 'rendered-worker-1', labels: {} }], []],
  ['warning NoPool', CONFIG, 'metadata/labels', [{ [ROLE]: 'worker' }], [{ [ROLE]: 'workers' }]],
  ['error BuiltInPool', POOL, 'metadata/name', ['infra'], ['worker']],
  ['error EmptyPool', POOL, 'spec/machineConfigSelector', [{ matchExpressions: [NOT_IN] }], [{}, undefined]],
  ['error EmptyPool', POOL, 'spec/machineConfigSelector/matchLabels', [{ [ROLE]: 'infra' }], [{ [ROLE]: 'none' }]],
  ['warning EmptyRole', POOL, 'spec/machineConfigSelector', [{ matchExpressions: [IN] }], []],
  ['warning EmptyRole', POOL, 'spec/machineConfigSelector/matchLabels', [], [{ [ROLE]: 'infra' }]],
  ['warning UnselectedPool', KUBELET_CONFIG, 'spec/machineConfigPoolSelector', [], [undefined, NO_LABELS]],
  ['error NoNamespace', CONFIG_MAP, 'metadata/namespace', ['default'], [undefined]],
  ['error NoNamespace', createObject('apps/v1', 'Deployment'), 'metadata/namespace', ['default'], [undefined]],
  ['error NoNamespace', NAMESPACE, 'metadata/namespace', [undefined], []],
  ['error MissingNamespace', CONFIG_MAP, 'metadata/namespace', ['kube-system'], ['lab']],
  ['error MissingNamespace', CONFIG, 'metadata/namespace', ['lab'], []],
  ['warning NewNamespace', CONFIG_MAP, 'metadata/namespace', ['openshift-config'], ['openshift-lab']],
  ['warning Placeholder', CONFIG, 'spec/config/systemd', [SCRIPT], []],
  ['warning Placeholder', CONFIG, `${FILES}/0/contents/source`, ['data:,a%20${B}'], ['data:,$CONTENT']],
  ['warning Placeholder', CONFIG, `${FILES}/0/path`, ['/etc/a'], ['/etc/{{ a }}']],
  ['warning Placeholder', CONFIG, 'spec/kernelArguments/0', ['a=$b'], ['a=${B}']],
  ['warning Placeholder', CONFIG, 'spec/osImageURL', ['image'], ['<image>']],
  ['warning UnknownField', CONFIG, 'spec', [{ kernelArguments: ['a'] }], [{ kernelArgs: ['a'] }]],
  ['warning UnknownField', CONFIG, 'x-a', [1], []],
  ['warning UnknownField', CONFIG, 'config', [], [{}]],
  ['warning UnknownField', CONFIG, `${FILES}/0/content`, [], [{}]],
])('reports %s in %j at %s', async (code, object, field, harmless, harmful) => {
  const isFound = async (value: unknown) => [
    value,
    (await find({ 'a.yaml': change(object, field, value) })).includes(code),
  ];
  for (const value of harmless) expect(await isFound(value)).toEqual([value, false]);
  for (const value of harmful) expect(await isFound(value)).toEqual([value, true]);
});

const identify = (apiVersion: string, kind: string) => stringify(createObject(apiVersion, kind));

test.each<[code: string, harmless: readonly string[], harmful: readonly string[]]>([
  ['error ButaneObject', [identify('v1', 'A')], ['variant: openshift\nversion: 4.18.0\nmetadata: {name: a}\n']],
  ['error ClientKind', [identify('ran.example.com/v1', 'SiteConfig')], [identify('v1alpha1', 'AgentConfig')]],
  [
    'error ClientKind',
    [],
    [identify('kustomize.config.k8s.io/v1', 'A'), identify('rbac.x.k8s.io/v1', 'Kustomization')],
  ],
  ['error ClientKind', [], [identify('agent-install.openshift.io/v1beta1', 'NMStateConfig')]],
  ['error ClientKind', [], [identify('siteconfig.open-cluster-management.io/v1alpha1', 'ClusterInstance')]],
  ['error ClientKind', [], ['apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n']],
  ['error ObjectList', [identify('example.com/v1', 'AllowList')], ['apiVersion: v1\nkind: List\nitems: []\n']],
  ['error IncompleteObject', [], ['a\n', '- a\n', 'kind: A\nmetadata: {name: a}\n', identify('v1', '')]],
  ['error IncompleteObject', [], ['apiVersion: v1\nkind: A\nmetadata: {name: ""}\n', 'apiVersion: v1\nkind: A\n']],
  ['error EmptyDocument', ['---\na: {b\n'], ['', '# a\n', `---\n# a\n---\n${identify('v1', 'Namespace')}`]],
  ['warning DuplicateKey', ['a: {b: 1}\nc: {b: 1}\n'], ['a: 1\na: 2\n', 'a:\n  b: 1\n  b: 1\n']],
])('reports %s', async (code, harmless, harmful) => {
  const isFound = async (text: string) => [text, (await find({ 'a.yaml': text })).includes(code)];
  for (const text of harmless) expect(await isFound(text)).toEqual([text, false]);
  for (const text of harmful) expect(await isFound(text)).toEqual([text, true]);
});

const KUBELET = createSelecting('KubeletConfig', { kubeletConfig: { maxPods: 5 } });
const OTHER_KUBELET = createSelecting('KubeletConfig', {}, 'worker', 'b');
const BUILT_IN = change(OTHER_KUBELET, 'spec/machineConfigPoolSelector/matchLabels', { [`${MCO}/mco-built-in`]: '' });
const MASTER_KUBELET = createSelecting('KubeletConfig', {}, 'master', 'b');
const NAMESPACED = createObject('v1', 'ConfigMap', {}, { namespace: 'lab' });
const ICSP = createObject('operator.openshift.io/v1alpha1', 'ImageContentSourcePolicy', { spec: {} }, { name: 'b' });
const named = (name: string, labels: unknown = { [ROLE]: 'worker' }) => createConfig({}, { name, labels });
const KARG = createConfig({ kernelArguments: ['a'] });
const INFRA = { matchLabels: { [ROLE]: 'infra' } };
const INFRA_RT = createConfig({ kernelType: 'rt' }, { labels: { [ROLE]: 'infra' } });
const KERNEL_DEVEL = createConfig({ extensions: ['kernel-devel'] });
const REALTIME = createConfig({ kernelType: 'realtime' }, { name: 'b' });
const JSON_TWICE = '{"apiVersion": "v1", "kind": "A", "kind": "Namespace", "metadata": {"name": "a"}}';
const JSON_ONLY = '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"a"\n: "b"}}}';

test.each<[what: string, contents: readonly (string | Json)[], problems: readonly string[]]>([
  ['a second render input', [stringify(IDMS) + '---\n' + stringify(KUBELET)], ['error MultipleDocuments']],
  ['another second document', [identify('v1', 'A') + '---\n' + identify('v1', 'B')], ['warning MultipleDocuments']],
  ['one object in two files', [IDMS, IDMS], ['error DuplicateObject']],
  [
    'one name for two roles',
    [CONFIG, change(CONFIG, 'metadata/labels', { [ROLE]: 'master' })],
    ['error DuplicateObject'],
  ],
  ['an empty config twice', [CONFIG, IGNITION], ['warning DuplicateObject']],
  ['equal configs', [CONFIG, CONFIG], []],
  ['equal configs with kernel arguments', [KARG, KARG], ['error DuplicateObject']],
  ['another object twice', [NAMESPACE, NAMESPACE], ['warning DuplicateObject']],
  ['two KubeletConfigs for a pool', [KUBELET, OTHER_KUBELET], ['error MultipleConfigs', 'error MultipleConfigs']],
  ['selectors of different labels', [KUBELET, BUILT_IN], ['error MultipleConfigs', 'error MultipleConfigs']],
  ['KubeletConfigs for two pools', [KUBELET, MASTER_KUBELET], []],
  ['a generated name beside its cause', [KUBELET, named('99-worker-generated-kubelet')], ['error OperatorName']],
  ['a generated name of another pool', [KUBELET, named('99-master-generated-kubelet')], []],
  [
    'a pool that selects configs without labels',
    [createPool({ matchExpressions: [NOT_IN] }), createConfig({}, { labels: undefined })],
    ['error UnlabeledConfig', 'warning MissingRole'],
  ],
  ['contents for a custom pool', [createPool(INFRA), INFRA_RT], ['error InvalidContents', 'warning EmptyRole']],
  ['contents for no pool', [INFRA_RT], ['warning NoPool', 'warning InvalidContents']],
  ['kernel-devel beside another kernel', [KERNEL_DEVEL, REALTIME], ['error KernelDevel']],
  [
    'kernel-devel and a kernel for two pools',
    [KERNEL_DEVEL, change(REALTIME, 'metadata/labels', { [ROLE]: 'master' })],
    [],
  ],
  ['a namespace in another file', [NAMESPACED, createObject('v1', 'Namespace', {}, { name: 'lab' })], []],
  ['no last line feed', [stringify(createConfig({ osImageURL: 'a\n' })).trimEnd()], ['error DifferentReading']],
  ['a key of JSON twice', [JSON_TWICE], ['warning DifferentReading']],
  ['JSON that is no YAML', [JSON_ONLY], ['error UnparsableInCluster']],
  ['each document that does not parse', ['a: [\n---\nb: {\n'], ['error Unparsable', 'error Unparsable']],
])('judges %s', async (_what, contents, problems) => {
  expect(await find(Object.fromEntries(contents.map((content, index) => [`${index}.yaml`, content])))).toEqual(
    problems,
  );
});

test('judges a hidden file', async () => {
  expect(await find({ 'openshift/.a.yaml': NAMESPACE })).toEqual(['error HiddenFile']);
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
  ['4.14', [IDMS, ICSP], ['error MirrorRelease']],
  ['4.15', [IDMS, ICSP], []],
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
