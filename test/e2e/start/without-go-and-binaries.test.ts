import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

let empty: string;

beforeAll(async () => {
  empty = await mkdtemp(join(tmpdir(), 'mcg-empty-'));
});

afterAll(() => rm(empty, { recursive: true }));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script as `npm run` would, on a machine where no program is to be found and nothing was ever built. */
function run(script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const command = ['--import', 'tsx', script, ...args];
  const options = { cwd: ROOT, env: { PATH: empty, XDG_CACHE_HOME: empty, HOME: empty, ...env } };
  return new Promise((resolve) => {
    execFile(process.execPath, command, options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

const SCRIPTS = ['test/e2e/run.ts', 'test/e2e/control-plane/command.ts'];

test.for(SCRIPTS)('%s says in one sentence what is missing and fails', async (script) => {
  const { code, stdout, stderr } = await run(script, []);

  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(stderr).toMatch(
    /^There is no control plane of Kubernetes 1\.33\.0 to run on: install Go .* KUBEBUILDER_ASSETS/,
  );
  expect(await readdir(empty)).toEqual([]);
});

test.for(SCRIPTS)('%s names what is missing in KUBEBUILDER_ASSETS and fails', async (script) => {
  const { code, stdout, stderr } = await run(script, [], { KUBEBUILDER_ASSETS: empty });

  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toBe(
    `KUBEBUILDER_ASSETS=${empty} has no etcd, no kube-apiserver, no kube-controller-manager, no kubectl: add them, or unset the variable so that a control plane is built with Go.\n`,
  );
});

test.for([
  { args: ['--bogus'], says: "Unknown option '--bogus'." },
  { args: ['--version'], says: "Option '--version <value>' argument missing." },
  { args: ['extra'], says: "Unexpected argument 'extra'." },
  { args: ['--version', '1.2.3'], says: '--version 1.2.3 is not available here: it can be 1.33.0 or 1.31.0.' },
])('the control-plane command refuses $args in one sentence, with exit code 2', async ({ args, says }) => {
  const { code, stdout, stderr } = await run('test/e2e/control-plane/command.ts', args);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(says);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test('the control-plane command explains itself', async () => {
  const { code, stdout, stderr } = await run('test/e2e/control-plane/command.ts', ['--help']);

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('Example: npm run control-plane -- --version 1.31.0');
});
