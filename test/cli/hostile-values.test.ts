import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { buildWebhookConfiguration } from '../support/webhook-configuration.ts';
import type { Fault } from '../support/faults.ts';
import {
  annotate,
  CLUSTER_COMMAND_LINES,
  type InspectedCluster,
  OLD,
  startEmptyCluster,
  startHealthyCluster,
} from './inspected-cluster.ts';
import { listCommands, runProgram } from './run-program.ts';
import { createTemporaryDirectory } from './temporary-directory.ts';
import { MCO_GROUP } from '../../src/mco/api-paths.ts';

/** Writes to the clipboard of a terminal, clears the screen, starts a line, reverses the text and prints advice. */
const HOSTILE = '\u001B]52;c;aGk=\u0007\u009B2J\rHOSTILE\u202E\u2028\n\nmachineconfig-guard:log-in-with:evil';
/** After an empty line, which no wrapping prints. In JSON and YAML it is a part of a string. */
const FORGED = /\n\nmachineconfig-guard:log-in-with:evil/;
/** Everything that a terminal could interpret, but line feeds and tabs. */
const UNSAFE = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/u;
const GONE = `rendered-worker${HOSTILE}-c4983d88dabdc54ecf977ee120fd3796`;
const UNUSED = `rendered-${HOSTILE}-a4983d88dabdc54ecf977ee120fd3796`;
const LABELS = { 'app.kubernetes.io/name': 'machineconfig-guard', 'app.kubernetes.io/version': HOSTILE };
const DENIAL = `admission webhook "${HOSTILE}" denied the request: ${HOSTILE}`;

const now = performance.now.bind(performance);
/** Commands that retry for 30 s end after 0.3 s. */
const speedUp = () => vi.spyOn(performance, 'now').mockImplementation(() => 100 * now());
let inspected: InspectedCluster;
let directory: string;

beforeEach(async () => {
  inspected = await startEmptyCluster();
  directory = path.join(createTemporaryDirectory(), HOSTILE);
  mkdirSync(directory);
  const config = { apiVersion: `${MCO_GROUP}/v1`, kind: 'MachineConfig', metadata: { name: GONE }, spec: {} };
  for (const name of [HOSTILE, 'config']) writeFileSync(path.join(directory, `${name}.json`), JSON.stringify(config));
  const { cluster } = inspected;
  const text = JSON.stringify(parse(readFileSync(new URL('hostile-cluster.yaml', import.meta.url), 'utf8')));
  const filled = JSON.parse(text.replaceAll('HOSTILE', JSON.stringify(HOSTILE).slice(1, -1))) as object;
  for (const [resource, list] of Object.entries<Parameters<typeof cluster.create>[1][]>({ ...filled }))
    for (const each of list) cluster.create(resource, each);
  const clientConfig = { url: `https://127.0.0.1:1/${HOSTILE}`, caBundle: HOSTILE };
  const webhook = buildWebhookConfiguration({ name: `webhook${HOSTILE}`, clientConfig, failurePolicy: 'Ignore' });
  cluster.create('validatingwebhookconfigurations', { ...webhook, metadata: { ...webhook.metadata, labels: LABELS } });
  cluster.faults.intercept(({ method, path: requested }) => {
    if (requested === '/version') return { status: 200, body: { gitVersion: `v1.31.1${HOSTILE}` } };
    return method === 'DELETE' && requested.endsWith(OLD) ? { status: 403, body: { message: DENIAL } } : 'pass';
  });
});

/** The arguments of each command. DIR stands for the directory. Each line is run with every format of the command. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  certs: ['--out DIR/certs'],
  check: ['', 'bootstrap DIR', 'manifests DIR', `--context ${HOSTILE}`, `--role ${HOSTILE}`],
  explain: [HOSTILE],
  render: [`--from-cluster --out DIR/manifests --image ${HOSTILE}`],
  restore: ['--from DIR', `--from DIR/${HOSTILE}`, `--from node/${HOSTILE}`, GONE],
  serve: [`--tls-cert-file ${HOSTILE} --tls-private-key-file ${HOSTILE}`],
  status: ['', `--contexts in-memory,${HOSTILE}`],
  uninstall: ['', '--confirm'],
  verify: [''],
  'who-uses': ['', '--unused', `${GONE} ${UNUSED}`],
};

/** Everything that these lines of a command print, in each of its formats. */
async function print(command: string, lines: readonly string[]): Promise<string> {
  const { stdout: help } = await runProgram([command, '--help']);
  const [, choices = ''] = /--output <format>[^(]*\(choices:([^)]*)default/.exec(help) ?? [];
  const formats = [...choices.matchAll(/"(\w+)"/g)].map(([, format = '']) => `-o ${format}`);
  const run = help.includes('--kubeconfig') ? inspected.run : (...args: string[]) => runProgram(args);
  let printed = '';
  // Not all lines at once, because each run listens for signals of the process.
  for (const line of lines) {
    const all = formats.length === 0 ? [line] : formats.map((format) => `${line} ${format}`);
    const outcomes = await Promise.all(
      all.map((text) => {
        const words = text.split(' ').filter(Boolean);
        return run(command, ...words.map((word) => word.replace(/^DIR\b/, directory)));
      }),
    );
    printed += outcomes.map(({ stdout, stderr }) => stdout + stderr).join('');
  }
  return printed;
}

test('the lines are of every command', async () => {
  const commands = (await listCommands()).filter((name) => name !== 'help');
  expect(commands.toSorted()).toEqual(Object.keys(COMMANDS));
});

test.each(Object.keys(COMMANDS))('%s prints no control character in any format', async (command) => {
  // It waits for the denial of a dry run to end.
  if (command === 'uninstall') speedUp();
  const printed = await print(command, COMMANDS[command] ?? []);
  expect([UNSAFE.exec(printed), FORGED.exec(printed)]).toEqual([null, null]);
  expect(printed).toContain('HOSTILE');
  expect(printed).not.toContain('unexpected error');
});

test.each<[string, Fault]>([
  ['rejected credentials', { status: 401, body: { message: HOSTILE } }],
  ['a missing right', { status: 403, body: { message: HOSTILE, reason: HOSTILE } }],
  ['an admission denial', { status: 403, body: { message: DENIAL } }],
  ['an internal error', { status: 500, body: { message: HOSTILE, reason: HOSTILE } }],
  ['an answer that is not JSON', { status: 200, body: HOSTILE }],
])('no command prints a control character of %s', async (_case, fault) => {
  speedUp();
  inspected.cluster.faults.clear();
  inspected.cluster.faults.intercept(() => fault);
  let printed = '';
  for (const [command, ...line] of CLUSTER_COMMAND_LINES) printed += await print(command, [line.join(' ')]);
  expect([UNSAFE.exec(printed), FORGED.exec(printed)]).toEqual([null, null]);
  expect(printed).not.toContain('unexpected error');
});

test.each([
  '--accept-content',
  '--confirm',
  '-o=json',
  'a --confirm',
  '$(reboot)',
  `rendered-worker-${'0'.repeat(32)} --confirm`,
])('prints no command with the annotation %s of a node', async (config) => {
  const { cluster, run } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { currentConfig: config, desiredConfig: config, state: 'Degraded', reason: config });
  const { stdout } = await run('check', '-o', 'json');
  const { repairs } = JSON.parse(stdout) as { readonly repairs: readonly { readonly command: string | null }[] };
  const restores = await Promise.all([run('restore', '--from', 'node/worker-0'), run('who-uses'), run('check')]);
  const lines = restores.flatMap(({ stdout: text, stderr }) => `${text}${stderr}`.split(/\n|: /));
  const printed = lines.filter((line) => /^\s*(?:# )?(?:oc|ssh|machineconfig-guard) /.test(line));
  const commands = [...repairs.map(({ command }) => command ?? ''), ...printed];
  expect(commands.filter((line) => line.includes(config))).toEqual([]);
  expect(printed).not.toEqual([]);
});
