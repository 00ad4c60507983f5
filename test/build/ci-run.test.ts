import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { createTemporaryDirectory } from '../cli/temporary-directory.ts';
import { findAll } from '../docs/pages.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
/** The programs of the machine that the script needs. */
const TOOLS = 'bash cat dirname grep mktemp rm sed tail tee'.split(' ');

interface Machine {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly hasGo?: boolean;
  /** The folder of a Go module in which the program fails. */
  readonly failing?: Partial<Readonly<Record<'go' | 'gofmt', string>>>;
  readonly output?: string;
  readonly endToEndExitCode?: number;
  readonly auditExitCode?: number;
  readonly schemasExitCode?: number;
}

/** Runs a copy of `.ci/run` with programs that only print. Returns its exit code, last lines and calls of apt-get. */
function runCi(machine: Machine) {
  const { args = [], env = {}, hasGo = true, failing = {}, output = '' } = machine;
  const { endToEndExitCode = 0, auditExitCode = 0, schemasExitCode = 0 } = machine;
  const folder = createTemporaryDirectory();
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  cpSync(path.join(ROOT, '.ci'), path.join(folder, '.ci'), { recursive: true });
  writeFileSync(path.join(folder, 'output'), output);
  const calls = path.join(folder, 'calls');
  const addProgram = (name: string, script: string) =>
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  for (const tool of TOOLS) {
    const file = ['/usr/bin', '/bin'].map((directory) => path.join(directory, tool)).find(existsSync);
    symlinkSync(file ?? '', path.join(bin, tool));
  }
  symlinkSync(process.execPath, path.join(bin, 'node'));
  addProgram('apt-get', `echo "$*" >>${calls}`);
  // What gofmt prints is wrong.
  for (const [name, failure] of hasGo ? Object.entries({ go: 'exit 1', gofmt: 'echo x.go' }) : [])
    addProgram(name, `case "$PWD" in */${failing[name as 'go'] ?? 'none'}) ${failure} ;; esac`);
  for (const name of ['bench/peers/controller-runtime', 'schemas/go-types'])
    mkdirSync(path.join(folder, 'build', name), { recursive: true });
  addProgram(
    'npm',
    `case "$*" in
      'run test:e2e') cat ${folder}/output; exit ${endToEndExitCode} ;;
      'run --silent audit') exit ${auditExitCode} ;;
      'run --silent schemas -- --check') exit ${schemasExitCode} ;;
      'run --silent node -- --missing-packages') echo runc ;;
    esac`,
  );
  const { status, stdout, stderr } = spawnSync(path.join(folder, '.ci/run'), args, {
    env: { PATH: bin, TMPDIR: folder, ...env },
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return {
    exitCode: status,
    lastLines: (stdout.split('=== audit: npm run audit\n').at(-1) ?? '').trimEnd().split('\n'),
    aptGet: existsSync(calls) ? readFileSync(calls, 'utf8') : '',
  };
}

const CI_RUN = readFileSync(path.join(ROOT, '.ci/run'), 'utf8');
const [WEEKLY = ''] = findAll(CI_RUN, /^weekly='(.*)'$/gm);
const WEEKLY_LINE = `weekly: npm run ${WEEKLY}`;

test('runs every test script, or names it as one that the weekly workflow runs', () => {
  const isTest = (command: string) => /\bvitest run\b|\btest\/(?:e2e|mutation|promises)\/run\.ts\b/.test(command);
  const scripts = Object.entries(packageJson.scripts).flatMap(([name, command]) => (isTest(command) ? [name] : []));
  expect(scripts.length).toBeGreaterThan(9);
  const run = findAll(CI_RUN, /^ *step .*\bnpm (?:run )?(test[\w:]*)$/gm);
  expect([...run, ...WEEKLY.split(', ')]).toEqual(expect.arrayContaining(scripts));
});

/** The steps and the audit, of which the end-to-end tests print no counts. */
let steps: number | undefined;
const countSteps = (): number => (steps ??= Number(/\d+/.exec(runCi({}).lastLines.at(-1) ?? '')?.[0]));

test('names what this machine cannot run, exits with 3 after --complete, and installs packages only if it may', () => {
  const lastLines = [
    WEEKLY_LINE,
    'not run: go vet, schemas and workflows (they need Go)',
    'not run: audit (the registry could not be asked)',
    `${countSteps() - 4} passed, 0 failed`,
  ];
  const machine = { hasGo: false, auditExitCode: 3 };
  expect(runCi(machine)).toEqual({ exitCode: 0, lastLines, aptGet: '' });
  const aptGet = 'update\ninstall --yes --no-install-recommends runc podman\n';
  expect(runCi({ ...machine, args: ['--complete'], env: { CI: 'true' } })).toMatchObject({ exitCode: 3, aptGet });
  expect(runCi({ args: ['--install'] }).aptGet).toBe(aptGet);
});

test('fails if the schemas are stale, and names them if their modules cannot be downloaded', () => {
  expect(runCi({ schemasExitCode: 1 })).toMatchObject({ exitCode: 1 });
  const lastLines = [
    WEEKLY_LINE,
    'not run: schemas (their Go modules could not be downloaded)',
    `${countSteps() - 1} passed, 0 failed`,
  ];
  expect(runCi({ schemasExitCode: 3 })).toMatchObject({ exitCode: 0, lastLines });
});

test.each([{ go: 'controller-runtime' }, { gofmt: 'controller-runtime' }, { go: 'go-types' }, { gofmt: 'go-types' }])(
  'fails if a program fails in a Go module: %j',
  (failing) => expect(runCi({ failing })).toMatchObject({ exitCode: 1 }),
);

// The reasons are those of requirements.ts and operator-binaries.ts in test/e2e.
test.each([
  ['The Machine Config Operator is built with Go: install it (https://go.dev/dl).', 0, 0],
  ['A node needs the Debian packages runc: run "apt-get install --no-install-recommends runc".', 0, 3],
  ['Command failed: go build -trimpath ./cmd/machine-config-server', 0, 3],
  ['A node needs cgroup v1, and this machine has cgroup v2.', 1, 1],
  ['A machine needs root or user namespaces: unshare: unshare failed: Operation not permitted.', 0, 0],
])('tests do not run because of %j, and %i tests fail: exits with %i', (obstacle, failed, exitCode) => {
  const line = `not run: the tests of pods in 3 files. ${obstacle}`;
  const lastLines = [WEEKLY_LINE, line, `${countSteps() + 4} passed, ${failed} failed`];
  const output = `Tests  ${failed} failed | 5 passed (6)\n${line}\n`;
  expect(runCi({ output, endToEndExitCode: failed })).toMatchObject({ exitCode, lastLines });
});

const VITEST = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
const REPORTERS = ['default', path.join(ROOT, 'test/support/skipped-tests.ts')].map((name) => `--reporter=${name}`);

test.each([
  ["test.skip('b', () => {})", 'no reason', 1],
  ["test('b', ({ skip }) => skip('no disk'))", 'no disk', 0],
])('names a skipped test, and fails if it gives no reason: %s', (otherTest, reason, exitCode) => {
  const cwd = createTemporaryDirectory();
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(cwd, 'node_modules'));
  const text = `import { expect, test } from 'vitest';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' }; test('a', () => expect(1).toBe(1)); ${otherTest};`;
  writeFileSync(path.join(cwd, 'x.test.ts'), text);
  const { status, stdout } = spawnSync(process.execPath, [VITEST, 'run', ...REPORTERS], { cwd, encoding: 'utf8' });
  const lastLines = [WEEKLY_LINE, `not run: x.test.ts: b: ${reason}`, `${countSteps()} passed, ${exitCode} failed`];
  expect(runCi({ output: stdout, endToEndExitCode: status ?? 1 })).toMatchObject({ exitCode, lastLines });
});
