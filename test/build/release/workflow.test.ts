import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { listFiles, readFile } from '../../docs/pages.ts';

interface Job {
  readonly needs?: readonly string[];
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

const FILES = [...listFiles('.github/workflows'), '.github/actions/setup/action.yaml'];
const readWorkflow = (name: string) =>
  parse(readFile(`.github/workflows/${name}.yaml`)) as { readonly on: object; readonly jobs: Record<string, Job> };
const { on, jobs: ciJobs } = readWorkflow('ci');
const { jobs } = readWorkflow('release');
const NPM_PUBLISH = 'npm publish --ignore-scripts --provenance --access public ./machineconfig-guard.tgz';

const listCommands = (job: Job | undefined): string[] => job?.steps.flatMap(({ run }) => run ?? []) ?? [];

test('every action is pinned by the digest of a commit with its version beside it, the same in all workflows', () => {
  const actions = FILES.flatMap((file) => readFile(file).match(/uses: (?!\.\/).*/g) ?? []);
  expect(actions.length).toBeGreaterThan(15);
  for (const action of actions) expect(action).toMatch(/^uses: [\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  const names = new Set(actions.map((action) => action.replace(/@.*/, '')));
  expect(new Set(actions).size).toBe(names.size);
});

test('a push to main and a pull request run .ci/run, and a release waits until every test has run', () => {
  expect(on).toEqual({ push: { branches: ['main'] }, pull_request: null });
  expect(listCommands(ciJobs['test'])).toEqual(['.ci/run --install']);
  expect(listCommands(jobs['test'])).toEqual(['.ci/run --install --complete']);
  expect(jobs).toMatchObject({ publish: { needs: ['test', 'build'] }, 'publish-npm': { needs: ['publish'] } });
});

test.each(['publish', 'publish-npm'])('the job %s checks the files, and runs no code of a repository', (name) => {
  const commands = listCommands(jobs[name]);
  expect(commands).toContain('sha256sum --check --strict SHA256SUMS');
  expect(commands.includes(NPM_PUBLISH)).toBe(name === 'publish-npm');
  const others = commands.filter((command) => command !== NPM_PUBLISH);
  expect(others.join('\n')).not.toMatch(/\b(?:npm|npx|node|machineconfig-guard\.cjs)\b/);
  expect(jobs[name]?.steps.map(({ uses = '' }) => uses).join()).not.toContain('actions/checkout');
});
