import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { runProgram } from '../cli/run-program.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';

const MCO = 'machineconfiguration.openshift.io';
const ROLE = `${MCO}/role`;
/** A slow machine prints it. */
const PROGRESS = /^ +\d+s .*\n/gm;

let directory: string;
let bin: string;
let operator: string;

/**
 * Stands for the machine-config-controller, with its errors of 4.20. The name of a config contains the kernel arguments
 * of its role. test/e2e/operator runs the real one.
 */
const OPERATOR = `#!${process.execPath}
const fs = require('node:fs');
const flags = Object.fromEntries(process.argv.slice(3).map((arg) => arg.slice(2).split('=')));
const input = flags['manifest-dir'];
const { MCG_TEST_LOG: log, RELEASE_VERSION: version, MCG_TEST_BROKEN: isBroken } = process.env;
fs.appendFileSync(log, process.argv.slice(2).join(' ') + ' ' + version + '\\n');
const end = (text, code) => { console.error(text); process.exit(code); };
const fail = (text) => end('I1 noise\\nF1 error running MCC[BOOTSTRAP]: ' + text, 255);
const texts = fs.readdirSync(input).map((file) => [file, fs.readFileSync(input + '/' + file, 'utf8')]);
const base = texts.map(([, text]) => text).join('');
if (isBroken) fail('no controllerconfig found in dir: ' + input);
if (!base.includes('generated-by-version":"v4"'))
  fail('Ignoring controller config generated from x (my version: v4)');
if (!base.includes('"name":"NewGate"'))
  end('panic: feature "NewGate" is not registered in FeatureGates []\\n\\ngoroutine 1', 2);
const bad = texts.find(([, text]) => text.includes('rt'+'x'));
if (bad && process.env.MCG_TEST_SILENT) fail('kernelType is invalid');
if (process.env.MCG_TEST_INPUTS) fs.writeFileSync(process.env.MCG_TEST_INPUTS, base);
if (bad) fail('error parsing "' + input + '/' + bad[0] + '" [1] manifest: kernelType=rtx is invalid');
const find = (pattern) => texts.flatMap(([, text]) => [...text.matchAll(pattern)].map(([, found]) => found));
const source = [...find(/name"?: ?"?(\\d\\d-[-\\w]+)/g), '00-worker'].map((name) => ({ name }));
const write = (directory, pool, object) => {
  fs.mkdirSync(flags['dest-dir'] + directory, { recursive: true });
  fs.writeFileSync(flags['dest-dir'] + directory + '/' + pool + '.yaml', JSON.stringify(object));
};
for (const pool of ['master', 'worker', 'infra']) {
  const kernelArguments = find(new RegExp('role"?: ?"?' + pool + '[^a-z][^]*?(karg-\\\\w+)', 'g')).sort();
  const hash = Buffer.from(kernelArguments.join() + '0'.repeat(32)).toString('hex').slice(0, 32);
  const metadata = { name: 'rendered-' + pool + '-' + hash };
  const config = { apiVersion: '${MCO}/v1', kind: 'MachineConfig', metadata, spec: { kernelArguments } };
  write('/machine-configs', pool, config);
  if (!process.env.MCG_TEST_DAMAGED) write('/machine-pools', pool, { spec: { configuration: { source } } });
}
`;

function writeProgram(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
}

beforeEach(() => {
  directory = createTemporaryDirectory();
  bin = path.join(directory, 'bin');
  operator = path.join(directory, 'operator');
  writeProgram(path.join(operator, 'machine-config-controller'), OPERATOR);
  mkdirSync(path.join(operator, 'templates'));
  vi.stubEnv('MCG_TEST_LOG', path.join(directory, 'log'));
  vi.stubEnv('TMPDIR', createTemporaryDirectory());
});

afterEach(() => {
  vi.unstubAllEnvs();
});

function createConfig(name: string, role: string, ...kernelArguments: readonly string[]): string {
  const metadata = { name, labels: { [ROLE]: role } };
  return stringify({ apiVersion: `${MCO}/v1`, kind: 'MachineConfig', metadata, spec: { kernelArguments } });
}

async function check(files: Readonly<Record<string, string>>, ...args: readonly string[]) {
  writeFiles(path.join(directory, 'openshift'), files);
  return await runProgram(['check', 'manifests', directory, '--operator', operator, ...args]);
}

async function render(files: Readonly<Record<string, string>>) {
  const { exitCode, stdout } = await check(files, '-o', 'json');
  const { problems, renders } = JSON.parse(stdout) as {
    problems: { code: string; file: string; message: string }[];
    renders: { pool: string; differences: object[] }[];
  };
  return { exitCode, problems, renders, differences: renders.map(({ differences }) => differences) };
}

test('is fine if both sides render the same, and leaves no files', async () => {
  const { exitCode, problems, renders } = await render({ 'a.yaml': createConfig('99-a', 'worker', 'karg-a') });
  expect([exitCode, problems]).toEqual([0, []]);
  expect(renders).toMatchObject(['infra', 'master', 'worker'].map((pool) => ({ pool, differences: [] })));
  expect(readdirSync(tmpdir())).toEqual([]);
  const runs = readFileSync(path.join(directory, 'log'), 'utf8').trim().split('\n');
  // One for the version, one for a feature gate, and the two renders.
  expect(runs).toHaveLength(4);
  const flags = ['manifest-dir', 'dest-dir', 'pull-secret', 'templates'].map((flag) => String.raw`--${flag}=\S+`);
  expect(runs[0]).toMatch(new RegExp(`^bootstrap ${flags.join(' ')}/templates 0\\.0\\.0$`));
});

const WORKER_POOL = {
  apiVersion: `${MCO}/v1`,
  kind: 'MachineConfigPool',
  metadata: { name: 'worker', labels: { [ROLE]: 'worker', lab: 'karg-a' } },
  spec: { machineConfigSelector: { matchLabels: { [ROLE]: 'worker' } } },
};

const [A, B] = ['99-a', '99-b'].map((name) => createConfig(name, 'worker', name.replace('99', 'karg'))) as [
  string,
  string,
];

test.each([
  ['the first document of a file', { 'a.yaml': `${A}---\n${B}` }, 'karg-b'],
  ['no object with items', { 'a.yaml': `${A}items: null\n` }, 'karg-a'],
  ['the first of two objects', { 'a.yaml': A, 'b.yaml': createConfig('99-a', 'worker', 'karg-b') }, 'karg-b'],
  ['no pool with the name of one of the operator', { 'a.yaml': stringify(WORKER_POOL) }, 'karg-a'],
  [
    'no config with the name of one of the operator',
    { 'a.yaml': createConfig('00-worker', 'worker', 'karg-a') },
    'karg-a',
  ],
])('renders for the cluster %s, and names what it lacks', async (_what, files, name) => {
  const { exitCode, problems, differences } = await render(files);
  const setBy = Object.keys(files)
    .slice(-1)
    .map((file) => `openshift/${file}`);
  expect(differences).toEqual([[], [], [{ kind: 'kernel argument', name, bootstrap: 'set', cluster: null, setBy }]]);
  expect([exitCode, problems[0]?.code, problems[0]?.file]).toEqual([1, 'RendersDiffer', setBy[0]]);
  const sides = 'rendered-worker-X on the bootstrap host, rendered-worker-X in the cluster';
  const message = problems[0]?.message.replaceAll(/(?<=worker-)\w+/g, 'X');
  expect(message).toBe(`the pool gets ${sides}: kernel argument ${name}`);
});

test('does not report a difference of a custom pool, which gets its configs only from the cluster', async () => {
  const { problems, differences } = await render({ 'a.yaml': `${A}---\n${B}`.replaceAll('worker', 'infra') });
  expect(differences.map(({ length }) => length)).toEqual([1, 0, 0]);
  expect(problems.map(({ code }) => code)).not.toContain('RendersDiffer');
});

test('reports the last error of the operator, and the file that it names', async () => {
  const { exitCode, problems, renders } = await render({
    'a.yaml': A,
    'b.yaml': createConfig('99-b', 'worker', 'rtx'),
  });
  const message = 'the operator ends with error parsing "b.yaml" [1] manifest: kernelType=rtx is invalid';
  expect([exitCode, renders]).toEqual([1, []]);
  expect(problems[0]).toMatchObject({ code: 'RenderFails', file: 'openshift/b.yaml', message });
});

test('names each manifest without which the operator does not fail, although its message names none', async () => {
  vi.stubEnv('MCG_TEST_SILENT', '1');
  const files = ['a', 'b', 'c', 'd', 'e'].map((name) => {
    return [`${name}.yaml`, createConfig(`99-${name}`, 'worker', 'bd'.includes(name) ? 'rtx' : 'karg-a')] as const;
  });
  const { problems } = await render(Object.fromEntries(files));
  expect(problems.filter(({ code }) => code === 'RenderFails')).toEqual(
    ['openshift/b.yaml', 'openshift/d.yaml'].map(
      (file) => expect.objectContaining({ file, message: 'the operator ends with kernelType is invalid' }) as object,
    ),
  );
});

test('renders with what the directory says about the cluster, and says whether the names are real', async () => {
  const pullSecret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'pull-secret' }, data: { a: 'Yg==' } };
  const infrastructure = {
    apiVersion: 'config.openshift.io/v1',
    kind: 'Infrastructure',
    metadata: { name: 'cluster' },
    status: { apiServerURL: 'https://api.lab.example.org:6443' },
  };
  vi.stubEnv('MCG_TEST_INPUTS', path.join(directory, 'inputs'));
  const own = { '1.json': JSON.stringify(pullSecret), '2.json': JSON.stringify(infrastructure) };
  const { stdout } = await check({ 'a.yaml': A, ...own }, '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({ hasRealNames: false });
  const inputs = readFileSync(path.join(directory, 'inputs'), 'utf8');
  expect(inputs).toContain('"apiServerURL":"https://api.lab.example.org:6443"');
  expect(inputs).toContain('"data":{"a":"Yg=="}');

  const controllerConfig = {
    apiVersion: `${MCO}/v1`,
    kind: 'ControllerConfig',
    metadata: { name: 'machine-config-controller', annotations: { [`${MCO}/generated-by-version`]: 'v4' } },
    spec: { clusterDNSIP: '172.31.0.10' },
  };
  const gates = { apiVersion: 'config.openshift.io/v1', kind: 'FeatureGate', metadata: { name: 'cluster' } };
  const real = await check({
    'b.json': JSON.stringify(controllerConfig),
    'c.json': JSON.stringify({ ...gates, spec: {}, status: { featureGates: [{ disabled: [{ name: 'NewGate' }] }] } }),
  });
  expect(real.stdout).toContain('The names are those of your cluster.');
  const realInputs = readFileSync(path.join(directory, 'inputs'), 'utf8');
  expect(realInputs).toContain('"clusterDNSIP":"172.31.0.10"');
  expect(realInputs).not.toContain('"clusterDNSIP":"172.30.0.10"');
});

test('prints the other findings if the operator ends in an unexpected way', async () => {
  vi.stubEnv('MCG_TEST_DAMAGED', '1');
  const { exitCode, stdout, stderr } = await check({ 'a.yaml': createConfig('99-a', 'none', 'karg-a') });
  expect([exitCode, stdout]).toEqual([2, expect.stringContaining('NoPool: no pool selects it: it has role none')]);
  expect(stderr).toMatch(/master\.yaml/);
});

test('prints the static check, and exits with 2, if the operator cannot render at all', async () => {
  vi.stubEnv('MCG_TEST_BROKEN', '1');
  const { exitCode, stdout, stderr } = await check({ 'a.yaml': A });
  expect([exitCode, stdout.slice(0, 5)]).toEqual([2, 'Fine:']);
  const reason = 'the operator cannot render a cluster without manifests: no controllerconfig found in dir:';
  expect(stderr).toMatch(`machineconfig-guard: ${reason} `);
});

/** Stands for podman and oc: it runs the operator on the mounted directories. */
const PODMAN = `#!${process.execPath}
const fs = require('node:fs');
const args = process.argv.slice(2);
fs.appendFileSync(process.env.MCG_TEST_LOG, args.join(' ') + '\\n');
if (args[0] === 'image') process.exit(1);
if (args[0] === 'pull' && process.env.MCG_TEST_OFFLINE) {
  console.error('Trying to pull\\nError: unauthorized');
  process.exit(125);
}
if (args[0] === 'adm') console.log('quay.io/lab/mco@sha256:1');
if (args[0] !== 'run') process.exit(0);
const mounts = args.flatMap((arg) => /^--volume=(.*?):(\\/\\w+):/.exec(arg)?.slice(1, 3) ?? []);
const flags = args
  .slice(args.findIndex((arg) => arg.startsWith('quay.io')) + 1)
  .map((arg) => arg.replace(mounts[1], mounts[0]).replace(mounts[3], mounts[2]));
const env = { ...process.env, RELEASE_VERSION: '0.0.0', MCG_TEST_LOG: '/dev/null' };
process.exit(require('node:child_process').spawnSync('OPERATOR', flags, { stdio: 'inherit', env }).status);
`;

const IMAGE = 'quay.io/lab/mco:1';

test.each([
  [
    '/none/controller does not exist; give an image, or the path of machine-config-controller ' +
      'with its templates/ beside it',
    '--operator',
    '/none/controller',
  ],
  ['/proc/templates does not exist; copy it from the repository of the operator', '--operator', '/proc/version'],
  ['an image needs podman or docker, and neither is there; install podman, or give a path', '--operator', IMAGE],
  [
    `cannot run oc: it does not exist; give --operator what this prints elsewhere: ` +
      `oc adm release info --image-for=machine-config-operator ${IMAGE}`,
    '--release-image',
    IMAGE,
  ],
  [`docker cannot pull ${IMAGE}: Error: unauthorized`, '--operator', IMAGE],
])('prints the static check, and exits with 2: %s', async (message, ...args) => {
  vi.stubEnv('PATH', bin);
  vi.stubEnv('MCG_TEST_OFFLINE', '1');
  if (message.startsWith('docker')) writeProgram(path.join(bin, 'docker'), PODMAN);
  writeFiles(path.join(directory, 'openshift'), { 'a.yaml': A });
  const { exitCode, stdout, stderr } = await runProgram(['check', 'manifests', directory, ...args]);
  expect([exitCode, stdout.slice(0, 5), stderr.replaceAll(PROGRESS, '')]).toEqual([
    2,
    'Fine:',
    `machineconfig-guard: ${message}\n`,
  ]);
});

test('runs an image offline, without rights, on two directories, and pulls it with the authfile', async () => {
  vi.stubEnv('PATH', bin);
  for (const name of ['podman', 'oc'])
    writeProgram(path.join(bin, name), PODMAN.replace('OPERATOR', path.join(operator, 'machine-config-controller')));
  writeFiles(path.join(directory, 'openshift'), { 'a.yaml': A });
  const args = ['--release-image', 'quay.io/lab/release:1', '--authfile', 'auth.json'];
  const { exitCode, stdout, stderr } = await runProgram(['check', 'manifests', directory, ...args]);
  expect(stderr).toMatch(/^ +\d+s {2}rendering what the bootstrap host and what the cluster get$/m);
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('worker: both render rendered-worker-')]);
  const [oc, version, inspect, pull, run] = readFileSync(path.join(directory, 'log'), 'utf8').split('\n');
  expect([oc, version, inspect, pull]).toEqual([
    'adm release info --image-for=machine-config-operator quay.io/lab/release:1 --registry-config=auth.json',
    '--version',
    'image inspect --format={{.Id}} quay.io/lab/mco@sha256:1',
    'pull --quiet --authfile=auth.json quay.io/lab/mco@sha256:1',
  ]);
  const limits =
    '--rm --pull=never --network=none --read-only --cap-drop=all --user=0:0 --security-opt=no-new-privileges ';
  expect(run).toContain(`run ${limits}`);
  expect(run).toContain(' --entrypoint=/usr/bin/machine-config-controller ');
  expect(run).toMatch(/ --volume=\S+\/in:\/in:ro,Z --volume=\S+\/out:\/out:Z /);
});

test('at Ctrl-C, removes the container, which can outlive its client', async () => {
  vi.stubEnv('PATH', bin);
  const hanging = PODMAN.replace(/^process\.exit\(require.*$/m, 'setInterval(() => {}, 1_000);');
  writeProgram(path.join(bin, 'podman'), hanging);
  writeFiles(path.join(directory, 'openshift'), { 'a.yaml': A });
  const outcome = runProgram(['check', 'manifests', directory, '--operator', IMAGE]);
  const log = path.join(directory, 'log');
  const readName = () => / --name=(\S+)/.exec(readFileSync(log, 'utf8'))?.[1];
  await expect.poll(readName).toBeDefined();
  process.emit('SIGINT');
  expect((await outcome).exitCode).toBe(130);
  expect(readFileSync(log, 'utf8').trim().split('\n').at(-1)).toBe(`rm --force ${readName()}`);
});
