import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { listFiles, readFile } from '../../docs/pages.ts';

interface Job {
  readonly permissions: Readonly<Record<string, string>>;
  readonly steps?: readonly Readonly<Partial<{ uses: string; run: string; with: Record<string, unknown> }>>[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const FILES = listFiles('.github/workflows');
const TEXTS = [...FILES, '.github/actions/setup/action.yaml'].map(readFile);
const WORKFLOWS = new Map(FILES.map((file) => [path.basename(file), parse(readFile(file)) as Workflow]));
const JOBS = [...WORKFLOWS].flatMap(([workflow, { jobs }]) =>
  Object.entries(jobs).map(([name, { steps = [], ...job }]) => ({ name: `${workflow} ${name}`, steps, ...job })),
);
const PUBLISHING_JOBS = ['release.yaml publish', 'release.yaml publish-npm'];
const NPM_PUBLISH = 'npm publish --ignore-scripts --provenance --access public ./machineconfig-guard.tgz';

const listCommands = (steps: NonNullable<Job['steps']>): string[] => steps.flatMap(({ run }) => run ?? []);

test('every action is pinned by the digest of a commit with its version beside it, the same in all workflows', () => {
  const actions = TEXTS.flatMap((text) => text.match(/uses: (?!\.\/).*/g) ?? []);
  expect(actions.length).toBeGreaterThan(15);
  for (const action of actions) expect(action).toMatch(/^uses: [\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  const names = new Set(actions.map((action) => action.replace(/@.*/, '')));
  expect(new Set(actions).size).toBe(names.size);
});

test('a push to main and a pull request run .ci/run, and a release waits until every test has run', () => {
  const ci = WORKFLOWS.get('ci.yaml');
  expect(ci?.on).toEqual({ push: { branches: ['main'] }, pull_request: null });
  expect(listCommands(ci?.jobs['test']?.steps ?? [])).toEqual(['.ci/run --install']);
  const { test: release, ...others } = WORKFLOWS.get('release.yaml')?.jobs ?? {};
  expect(listCommands(release?.steps ?? [])).toEqual(['.ci/run --install --complete']);
  expect(others).toMatchObject({ publish: { needs: ['test', 'build'] }, 'publish-npm': { needs: ['publish'] } });
});

test('the jobs that publish check the files, and run no code of the repository or of its dependencies', () => {
  const jobs = JOBS.filter(({ name }) => PUBLISHING_JOBS.includes(name));
  expect(jobs).toHaveLength(PUBLISHING_JOBS.length);
  for (const { steps } of jobs) {
    expect(steps.map(({ uses = '' }) => uses).join()).not.toContain('actions/checkout');
    const commands = listCommands(steps);
    expect(commands).toContain('sha256sum --check --strict SHA256SUMS');
    const others = commands.filter((command) => command !== NPM_PUBLISH);
    expect(others.join('\n')).not.toMatch(/\b(?:npm|npx|node|machineconfig-guard\.cjs)\b/);
  }
  expect(listCommands(jobs.flatMap(({ steps }) => steps))).toContain(NPM_PUBLISH);
});
