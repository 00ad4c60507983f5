import { expect, test } from 'vitest';
import { findProblems, type ManifestProblem } from '../../../../src/cli/check/manifests/find-problems.ts';

const ROLE = 'machineconfiguration.openshift.io/role';
const MACHINE_CONFIG = createMachineConfig('99-master-a');

function createMachineConfig(name: string, metadata = `labels: {${ROLE}: master}`, spec = ''): string {
  const config = `apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: ${name}\n`;
  return `${config}  ${metadata}\nspec:\n  config: {ignition: {version: 3.4.0}}\n${spec}`;
}

function createObject(apiVersion: string, kind: string, name = 'cluster', namespace = ''): string {
  const metadata = namespace === '' ? `{name: ${name}}` : `{name: ${name}, namespace: ${namespace}}`;
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: ${metadata}\nspec: {}\n`;
}

async function find(files: Readonly<Record<string, string | Buffer | null>>): Promise<readonly ManifestProblem[]> {
  const manifests = Object.entries(files).map(([path, content]) => {
    return { path, content: content === null ? undefined : Buffer.from(content) };
  });
  return (await findProblems(manifests)).problems;
}

async function findCodes(text: string | Buffer, path = 'openshift/a.yaml'): Promise<string[]> {
  return (await find({ [path]: text })).map(({ code, line, severity }) => `${code} ${line} ${severity}`);
}

const JSON_OBJECT = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } });

test.each([
  ['a comment before the first separator', `# a\n---\n${MACHINE_CONFIG}`],
  ['a separator at the beginning', `---\n${MACHINE_CONFIG}`],
  ['an empty document at the end', `${MACHINE_CONFIG}---\n# end\n`],
  ['a byte order mark', `\uFEFF---\n${MACHINE_CONFIG}`],
  ['Windows line ends', `---\n${MACHINE_CONFIG}`.replaceAll('\n', '\r\n')],
  ['JSON', JSON_OBJECT],
  ['JSON after a byte order mark, which Go reads as YAML', `\uFEFF${JSON_OBJECT}`],
  ['a YAML flow mapping after a comment', `# a\n{apiVersion: v1, kind: A, metadata: {name: a}}\n`],
  ['text in quotes and null', createMachineConfig('a', `labels: {${ROLE}: master, a: "1", b: "yes", c: }`)],
  ['names of the prototype', '__proto__: {kind: a}\nkind: constructor\napiVersion: toString/v1\nmetadata: {name: a}\n'],
  ['lists for objects', 'apiVersion: v1\nkind: A\nmetadata: {name: a, labels: [a, b]}\nspec: [a]\n'],
  ['numbers and booleans where the API has them', `${MACHINE_CONFIG}  fips: yes\n  x: 0644\n  y: 1:30\n`],
])('finds nothing in a file with %s', async (_what, text) => {
  expect(await findCodes(text)).toEqual([]);
});

test.each([
  ['only a comment', '# a\n', ['EmptyDocument 1 error']],
  ['nothing', '', ['EmptyDocument 1 error']],
  ['an empty first document', `---\n# a\n---\n${MACHINE_CONFIG}`, ['EmptyDocument 1 error']],
  ['a YAML error', `${MACHINE_CONFIG}a: b: c\n`, ['Unparsable 8 error']],
  ['a YAML error in the second document', `${MACHINE_CONFIG}---\na: 1\nb: [\n`, ['Unparsable 11 error']],
  ['text after a separator', `--- {a: b}\n`, ['Unparsable 1 error']],
  ['a line of a quoted text that begins with ---', `a: "\n-----BEGIN\n"\n`, [/^Unp/, /^Unp/]],
  ['a YAML directive', `%YAML 1.1\n---\n${MACHINE_CONFIG}`, ['Unparsable 1 error']],
  ['a template', 'apiVersion: v1\nkind: A\nmetadata: {name: a}\ndata: {{ .data }}\n', ['Unparsable 1 error']],
  ['a YAML flow mapping', '{apiVersion: v1, kind: A, metadata: {name: a}}\n', ['Unparsable 1 error']],
  ['text after JSON', `${JSON_OBJECT}\na: b\n`, ['Unparsable 1 error']],
  ['two JSON objects and a separator', `${JSON_OBJECT}\n---\n${JSON_OBJECT}`, ['Unparsable 1 error']],
  ['UTF-16', Buffer.from(MACHINE_CONFIG, 'utf16le'), ['Unparsable 1 error']],
  ['Latin-1', Buffer.from('# \u00E4', 'latin1'), ['Unparsable 1 error']],
  ['two JSON objects', `${JSON_OBJECT}\n${JSON_OBJECT.replace('"a"', '"b"')}`, ['MultipleDocuments 1 warning']],
  ['a scalar', 'a\n', ['IncompleteObject 1 error']],
  ['a sequence', '- a\n', ['IncompleteObject 1 error']],
  ['no kind', 'apiVersion: v1\nmetadata: {name: a}\n', ['IncompleteObject 1 error']],
  ['no apiVersion', 'kind: A\nmetadata: {name: a}\n', ['IncompleteObject 1 error']],
  ['no name', createObject('v1', 'ConfigMap', '""'), ['IncompleteObject 1 error']],
  ['null for objects', 'apiVersion: v1\nkind: A\nmetadata:\nspec:\n', ['IncompleteObject 1 error']],
  ['numbers for objects', 'apiVersion: v1\nkind: A\nmetadata: 5\nspec: 7\n', ['IncompleteObject 1 error']],
  ['a List', 'apiVersion: v1\nkind: List\nitems: []\n', ['ObjectList 1 error']],
  ['a typed list', 'apiVersion: v1\nkind: ConfigMapList\nmetadata: {}\nitems: []\n', ['ObjectList 1 error']],
  ['a label that is a boolean', createMachineConfig('a', `labels: {${ROLE}: master, a: on}`), [/^NotAString/]],
  ['a role that is a number', createMachineConfig('a', `labels: {${ROLE}: 1}`), [/^NotAString/]],
  ['an annotation that is a number', createObject('v1', 'A').replace('}', ', annotations: {a: 0o17}}'), [/^Not/]],
  ['a name that is a number', createObject('v1', 'A', '0x1F'), [/^NotAString/]],
  ['a name that YAML 1.1 reads as a boolean', createObject('v1', 'A', 'y'), [/^NotAString/]],
  ['a kernel argument that is a boolean', `${MACHINE_CONFIG}  kernelArguments: [nosmt, off]\n`, [/^NotAString/]],
  ['no role', createMachineConfig('a', 'labels: {}'), ['MissingRole 1 error']],
  ['a rendered name', createMachineConfig('rendered-master-1'), ['RenderedName 1 error']],
])('finds a problem in a file with %s', async (_what, text, codes) => {
  const expected = codes.map((code): unknown => (typeof code === 'string' ? code : expect.stringMatching(code)));
  expect(await findCodes(text)).toEqual(expected);
});

test('describes the document that the cluster does not get', async () => {
  const objects = [createObject('v1', 'ConfigMap', 'x'), createObject('v1', 'Secret', 'z'), MACHINE_CONFIG];
  const message = '3 documents: the bootstrap host reads all, the cluster gets only the first';
  const problem = { code: 'MultipleDocuments', line: 10, kind: 'MachineConfig', name: '99-master-a', message };
  expect(await find({ 'openshift/a.yaml': objects.join('---\n') })).toMatchObject([problem]);
});

const MCO = 'machineconfiguration.openshift.io';
const MCO_KINDS = ['MachineConfig', 'MachineConfigPool', 'KubeletConfig', 'ContainerRuntimeConfig', 'ControllerConfig'];
const LATER_MCO_KINDS = ['MachineOSConfig', 'OSImageStream'];
const CONFIG_KINDS = ['ImageDigestMirrorSet', 'ImageTagMirrorSet', 'Image', 'FeatureGate', 'Node', 'APIServer'];
const LATER_CONFIG_KINDS = ['ClusterImagePolicy', 'ImagePolicy', 'DNS', 'Infrastructure', 'Network', 'Proxy'];

// Each kind changed the name of the rendered config (docs/internals/decisions/0012-check-manifests.md).
test.each([
  ...[...MCO_KINDS, ...LATER_MCO_KINDS].map((kind) => [`${MCO}/v1`, kind, 'error']),
  [`${MCO}/v1alpha1`, 'InternalReleaseImage', 'error'],
  ...[...CONFIG_KINDS, ...LATER_CONFIG_KINDS].map((kind) => ['config.openshift.io/v1', kind, 'error']),
  ['operator.openshift.io/v1alpha1', 'ImageContentSourcePolicy', 'error'],
  ['performance.openshift.io/v2', 'PerformanceProfile', 'error'],
  ['v1', 'Node', 'warning'],
  ['image.openshift.io/v1', 'Image', 'warning'],
  ['operator.openshift.io/v1', 'Network', 'warning'],
  ['example.com/v1', 'MachineConfig', 'warning'],
  ['v1', 'Secret', 'warning'],
])('a second document of %s %s is a problem: %s', async (apiVersion = '', kind = '', severity = '') => {
  const text = `${createObject('v1', 'ConfigMap')}---\n${createObject(apiVersion, kind)}`;
  const codes = await findCodes(text);
  expect(codes).toContain(`MultipleDocuments 5 ${severity}`);
  if (severity === 'warning') expect(codes).toHaveLength(1);
});

test('finds one object in two files, in any version, by its namespace', async () => {
  const findings = await find({
    'openshift/a.yaml': MACHINE_CONFIG,
    'openshift/b.yaml': createObject('v1', 'ConfigMap', 'x', 'default'),
    'manifests/c.yaml': MACHINE_CONFIG,
    'openshift/d.yaml': createObject('v1', 'ConfigMap', 'x', 'other'),
    'openshift/e.yaml': createObject('v1', 'ConfigMap', 'x', 'default'),
  });
  expect(findings.map(({ severity, code, file, message }) => [severity, code, file, message])).toEqual([
    ['error', 'DuplicateObject', 'manifests/c.yaml', expect.stringMatching(/^it is in openshift\/a\.yaml, too: /)],
    ['warning', 'DuplicateObject', 'openshift/e.yaml', expect.stringContaining('openshift/b.yaml')],
  ]);
});

test('finds files that installers lose, hide or ignore', async () => {
  const findings = await find({
    'manifests/a.yaml': createObject('v1', 'ConfigMap', 'x'),
    'openshift/a.yaml': createObject('v1', 'ConfigMap', 'w'),
    'manifests/b; c.yaml': createObject('v1', 'ConfigMap', 'u'),
    'openshift/b; c.yaml': createObject('v1', 'ConfigMap', 'v'),
    'manifests/.b.yaml': createObject('v1', 'ConfigMap', 'z'),
    'openshift/c.yaml.bak': null,
  });
  expect(findings.map(({ severity, code, file }) => [severity, code, file])).toEqual([
    ['error', 'DuplicateFileName', 'openshift/a.yaml'],
    ['error', 'DuplicateFileName', 'openshift/b; c.yaml'],
    ['error', 'HiddenFile', 'manifests/.b.yaml'],
    ['warning', 'IgnoredFile', 'openshift/c.yaml.bak'],
  ]);
  const message = 'manifests/b; c.yaml has the same name: the bootstrap host copies one over the other';
  expect(findings).toContainEqual(expect.objectContaining({ message, advice: 'rename one of them' }));
});

test.each([
  ['config.openshift.io/v1', 'DNS', '', 'cluster-dns-02-config.yml'],
  ['config.openshift.io/v1', 'Infrastructure', '', 'cluster-infrastructure-02-config.yml'],
  ['config.openshift.io/v1', 'Network', '', 'cluster-network-02-config.yml'],
  ['config.openshift.io/v1', 'Proxy', '', 'cluster-proxy-01-config.yaml'],
  ['v1', 'ConfigMap', 'openshift-config', 'user-ca-bundle-config.yaml'],
])('warns about %s %s in another file than that of the installer', async (apiVersion, kind, namespace, file) => {
  const name = kind === 'ConfigMap' ? 'user-ca-bundle' : 'cluster';
  const text = createObject(apiVersion, kind, name, namespace);
  expect(await findCodes(text, `manifests/${file}`)).toEqual([]);
  expect(await findCodes(text, 'openshift/99-x.yaml')).toEqual(['OnlyInCluster 1 warning']);
});

test.each([
  ['config.openshift.io/v1alpha1', 'ClusterImagePolicy'],
  ['config.openshift.io/v1alpha1', 'ImagePolicy'],
  ['config.openshift.io/v1alpha1', 'CRIOCredentialProviderConfig'],
  ['config.openshift.io/v1', 'CRIOCredentialProviderConfig'],
])('warns about %s %s, which the bootstrap host of some releases does not read', async (apiVersion, kind) => {
  expect(await findCodes(createObject(apiVersion, kind))).toEqual(['OnlyInCluster 1 warning']);
});

test('reports untrusted text as one printable line, and nothing of the values', async () => {
  const text = createMachineConfig('"a\\e[31m\\u202Eb"', `labels: {"${ROLE}": master, "\\a\\n": 5318008}`);
  const [finding] = await find({ 'openshift/\u001B[2J\n\u202E.yaml': text });
  expect(finding).toMatchObject({ code: 'NotAString', file: 'openshift/ [2J .yaml', name: 'a [31m b' });
  expect(JSON.stringify(finding)).not.toMatch(/5318008|\p{C}/u);
});

test.each([
  ['tokens of one document', [`a: [${'a,'.repeat(60_000)}]`], /^0\.yaml has more than 100000 YAML tokens$/],
  [
    'tokens',
    Array.from({ length: 11 }, () => `a: [${'a,'.repeat(25_000)}]`),
    /^\d+\.yaml and the files before it have too many YAML tokens$/,
  ],
  ['errors', Array.from({ length: 3 }, () => '}\n'.repeat(40_000)), /^2\.yaml and the files before it have too/],
  ['documents', ['---\n'.repeat(1_001)], /^0\.yaml has more than 1000 documents$/],
  ['JSON objects', ['{}'.repeat(1_001)], /^0\.yaml has more than 1000 documents$/],
  ['findings', Array.from({ length: 11 }, () => 'a\n---\n'.repeat(999)), /^10\.yaml .* too many problems$/],
])('rejects a directory with too many %s', async (_what, texts, message) => {
  const files = Object.fromEntries(texts.map((text, index) => [`${index}.yaml`, text]));
  await expect(find(files)).rejects.toThrow(message);
});
