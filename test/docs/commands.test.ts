import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { EXIT_CODE } from '../../src/client/exit.ts';
import { annotate, GONE, startHealthyCluster } from '../cli/inspected-cluster.ts';
import { listCommands, runProgram } from '../cli/run-program.ts';
import { findAll, listFiles, readFile } from './pages.ts';

const PAGES = ['README.md', ...listFiles('docs').filter((file) => file.endsWith('.md'))];
const CODES = Object.values(EXIT_CODE).map(String);
const COMMAND = /(?:^|`|\| )(?:[$#] )?(?:machineconfig-guard|kubectl mcguard|oc mcguard) (?<line>[^`|\n]+)/gm;
const FLAG = /(?<=[\s[])--[a-z][-a-z]*/g;

/** The help of each command, by its name. The root has the name ''. */
const helps = new Map<string, string>();

beforeAll(async () => {
  const readHelp = async (...args: string[]) => (await runProgram([...args, '--help'])).stdout;
  helps.set('', await readHelp());
  for (const name of await listCommands()) helps.set(name, await readHelp(name));
});

test('the help and README.md name every exit code', () => {
  expect(findAll(helps.get('') ?? '', /^ {2}(\d+) {2,}\S/gm)).toEqual(CODES);
  const [sentence = ''] = findAll(readFile('README.md'), /^Exit codes: ([^]*?)\.\n/gm);
  expect(findAll(sentence, /(?:^|\s)(\d+) /g)).toEqual(CODES);
});

test('every page names only commands and flags that exist', () => {
  const wrong = PAGES.flatMap((page) => {
    const text = readFile(page).replaceAll(/\\\n\s*/g, '');
    return [...text.matchAll(COMMAND)].flatMap(({ groups: { line = '' } = {} }) => {
      const name = line.split(' ').find((word) => helps.has(word));
      const help = `${helps.get(name ?? '')}${helps.get('')}\n --help`;
      const flags = line.match(FLAG) ?? [];
      return flags.filter((flag) => !help.includes(flag)).map((flag) => `${page}: ${line}: ${flag}`);
    });
  });
  expect(wrong).toEqual([]);
});

/** Of `openshift-install`, `npm run release` and `oc adm release info`. */
const OTHER_FLAGS = new Set(['--dir', '--base-image', '--platform', '--image-for']);

test('every flag that a sentence or a table names exists', () => {
  const pages = PAGES.filter((page) => !page.startsWith('docs/internals/'));
  const flags = pages.flatMap((page) => findAll(readFile(page), /`(--[a-z][-a-z]*)[^`\n]*`/g));
  expect(flags.length).toBeGreaterThan(20);
  const isKnown = (flag: string) => [...helps.values()].some((help) => help.includes(` ${flag} `));
  expect(flags.filter((flag) => !OTHER_FLAGS.has(flag) && !isKnown(flag))).toEqual([]);
});

/** Collects the keys of a report at its top level, and at any depth. */
function collectKeys(report: object, { top, all }: { readonly top: Set<string>; readonly all: Set<string> }): void {
  for (const key of Object.keys(report)) top.add(key);
  JSON.stringify(report, (key, value: unknown) => {
    if (!/^\d*$|\./.test(key)) all.add(key);
    return value;
  });
}

/** Values that the page names beside the keys. */
const VALUES = new Set(['false', 'interrupted', 'null']);

/** A cluster in which `check` and `restore` have something to report. */
async function startBrokenCluster() {
  const inspected = await startHealthyCluster();
  annotate(inspected.cluster, 'worker-0', { desiredConfig: GONE, state: 'Degraded' });
  inspected.cluster.patch('machineconfigpools', 'worker', {
    metadata: { annotations: { 'machineconfig-guard.io/paused-for-restore': GONE } },
    spec: { paused: true },
  });
  inspected.cluster.create('certificatesigningrequests', {
    metadata: { name: 'csr-a' },
    spec: { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:worker-1' },
  });
  const file = path.join(path.dirname(inspected.kubeconfig), 'config.json');
  const apiVersion = 'machineconfiguration.openshift.io/v1';
  const files = [{ path: '/etc/a', contents: { source: 'data:,a' } }];
  const spec = { config: { ignition: { version: '3.4.0' }, storage: { files } } };
  writeFileSync(file, JSON.stringify({ apiVersion, kind: 'MachineConfig', metadata: { name: GONE }, spec }));
  return { ...inspected, file };
}

test.each([
  ['check', /### check --output json\n([^]*?)\n#/, [''], false],
  ['restore', /### restore --output json\n([^]*?)\n#/, ['--from FILE', '--from FILE --accept-content'], false],
  ['who-uses', /### who-uses --output json\n([^]*)/, [''], true],
] as const)('docs/inspect.md lists the keys of %s --output json', async (command, pattern, lines, isComplete) => {
  const { run, file } = await startBrokenCluster();
  const keys = { top: new Set<string>(), all: new Set<string>() };
  for (const line of lines) {
    const args = `${command} -o json ${line.replace('FILE', file)}`.trim().split(' ');
    const { stdout } = await run(...args);
    collectKeys(JSON.parse(stdout) as object, keys);
  }
  const [section = ''] = findAll(readFile('docs/inspect.md'), new RegExp(pattern, 'g'));
  const listed = new Set(findAll(section, /`([a-zA-Z\d]+)/g));
  expect([...(isComplete ? keys.all : keys.top)].filter((key) => !listed.has(key))).toEqual([]);
  // The values of an enumeration are in parentheses.
  const documented = findAll(section.replaceAll(/ \([^)]*\)/g, ''), /`([a-z][a-zA-Z\d]*)(?:\[\])?`/g);
  expect(documented.filter((key) => !keys.all.has(key) && !VALUES.has(key))).toEqual([]);
});
