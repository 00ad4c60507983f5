import { expect } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { findAll, listFiles, readFile } from '../../docs/pages.ts';
import { type Installed, type Job, type Relation, required } from './relation.ts';

const NPM_PUBLISH = 'npm publish --ignore-scripts --provenance --access public ./machineconfig-guard.tgz';
const CI_RUN = readFile('.ci/run');
const [WEEKLY = ''] = findAll(CI_RUN, /^weekly='(.*)'$/gm);
/** The jobs that write. */
const WRITES_BY_JOB: Readonly<Record<string, readonly string[]>> = {
  publish: ['contents', 'packages', 'id-token', 'attestations'],
  'publish-npm': ['id-token'],
  analysis: ['security-events', 'id-token'],
};

/** About the workflows, and how the image is built. */
export const WORKFLOW_RELATIONS: readonly Relation[] = [
  {
    rule: 'a push to main and a pull request run .ci/run, and a release waits until every test has run',
    check: ({ workflows }) => {
      expect(workflows.get('ci')?.on).toEqual({ push: { branches: ['main'] }, pull_request: null });
      expect(listCommands(workflows.get('ci')?.jobs?.['test'])).toEqual(['.ci/run --install']);
      const { on, jobs = {} } = required(workflows.get('release'));
      expect(on).toEqual({ push: { tags: ['v[0-9]*'] } });
      expect(listCommands(jobs['test'])).toEqual(['.ci/run --install --complete']);
      expect(jobs['test']?.['runs-on']).toContain('cgroup-v1');
      expect(jobs).toMatchObject({ publish: { needs: ['test', 'build'] }, 'publish-npm': { needs: ['publish'] } });
    },
  },
  {
    rule: 'each week everything runs that .ci/run leaves out, and the mutants of each folder of src',
    check: ({ workflows }) => {
      const { on, jobs = {} } = required(workflows.get('weekly'));
      expect(on).toMatchObject({ schedule: [{ cron: expect.stringMatching(/^\d+ \d+ \* \* [0-6]$/) as string }] });
      const { strategy, ...run } = required(jobs['run']);
      const { command: commands } = required(strategy).matrix;
      expect(strategy).toMatchObject({ 'fail-fast': false });
      expect(listCommands(run)).toEqual(['npm ci --ignore-scripts', 'npm run ${{ matrix.command }}']);
      expect(commands.map((command) => command.split(' ')[0])).toEqual(expect.arrayContaining(WEEKLY.split(', ')));
      const folders = findAll(listFiles('src').join('\n'), /^src\/((?:cli\/)?[\w-]+)\/[\w-]+\.ts$/gm);
      const mutated = findAll(commands.join('\n'), /^test:mutate -- (.*)$/gm);
      expect(new Set(['cli', ...mutated])).toEqual(new Set(folders));
      const options = findAll(commands.join('\n'), /^test:e2e -- (.*)$/gm);
      const [older] = findAll(CI_RUN, /test:e2e -- (--kubernetes [\d.]+) /g);
      expect(options).toEqual([expect.stringMatching(/^--long( test\/e2e\/\w+)+$/), older]);
      for (const script of commands) expect(packageJson.scripts).toHaveProperty([script.split(' ')[0] ?? '']);
    },
  },
  {
    rule: 'the workflows have no rights, credentials and installed scripts but those that they need, and end',
    check: (installed) => {
      for (const { permissions, jobs = {} } of installed.workflows.values())
        if (Object.keys(jobs).length > 0) expect(permissions).toEqual({});
      for (const [name, { permissions = {}, ...job }] of listJobs(installed)) {
        const writes = Object.entries(permissions).filter(([, right]) => right !== 'read');
        expect(writes).toEqual((WRITES_BY_JOB[name] ?? []).map((right) => [right, 'write']));
        expect(job['timeout-minutes']).toBeGreaterThanOrEqual(15);
        for (const { uses = '', with: inputs } of job.steps)
          if (uses.startsWith('actions/checkout@')) expect(inputs).toMatchObject({ 'persist-credentials': false });
      }
      const steps = listJobs(installed).flatMap(([, job]) => job.steps);
      steps.push(...required(installed.workflows.get('action')?.runs).steps);
      const versions = new Set(steps.flatMap(({ with: inputs = {} }) => Object.entries(inputs)).map(String));
      const ofNode = [...versions].filter((input) => input.startsWith('node-version,'));
      const ofGo = [...versions].filter((input) => input.startsWith('go-version,'));
      expect({ ofNode: ofNode.length, ofGo: ofGo.length }).toEqual({ ofNode: 1, ofGo: 1 });
      // The Node of the image.
      expect(installed.instructions[0]).toContain(`/nodejs-${ofNode[0]?.split(',')[1]}-minimal:`);
      const commands = listJobs(installed)
        .flatMap(([, job]) => listCommands(job))
        .concat(installed.instructions);
      for (const command of commands)
        if (/\bnpm (?:ci|install|publish)\b/.test(command)) expect(command).toContain('--ignore-scripts');
    },
  },
  {
    rule: 'a release is built twice alike, checked, signed and published, without code of a repository',
    check: ({ workflows }) => {
      const { build, ...jobs } = required(workflows.get('release')?.jobs);
      expect(listCommands(build)).toEqual([
        'npm ci --ignore-scripts',
        'npm run release -- --version "${GITHUB_REF_NAME#v}"',
        'npm run release -- --version "${GITHUB_REF_NAME#v}" --out dist/again',
        'diff --recursive dist/release dist/again',
      ]);
      for (const name of ['publish', 'publish-npm']) {
        const commands = listCommands(jobs[name]);
        expect(commands[0]).toBe('sha256sum --check --strict SHA256SUMS');
        expect(commands.includes(NPM_PUBLISH)).toBe(name === 'publish-npm');
        const others = commands.filter((command) => command !== NPM_PUBLISH).join('\n');
        expect(others).not.toMatch(/\b(?:npm|npx|node|machineconfig-guard\.cjs)\b/);
        expect(jobs[name]?.steps.map(({ uses = '' }) => uses).join()).not.toContain('actions/checkout');
        expect(jobs[name]?.['environment']).toBe('release');
      }
      const { steps } = required(jobs['publish']);
      const publishing = listCommands(jobs['publish']).join('\n');
      for (const command of [
        'skopeo copy --all --preserve-digests oci:image ',
        'cosign sign --yes --recursive "$(cat IMAGE)"\n',
        'cosign attest --yes --type cyclonedx --predicate sbom.cdx.json "$(cat IMAGE)"\n',
        'cosign sign-blob --yes --bundle SHA256SUMS.sigstore.json SHA256SUMS\n',
        ' --verify-tag ',
      ])
        expect(publishing).toContain(command);
      const attested = steps.filter(({ uses = '' }) => uses.includes('/attest-')).map((step) => step.with);
      const name = '${{ steps.image.outputs.name }}';
      expect(attested).toMatchObject([
        { 'subject-name': name, 'push-to-registry': true },
        { 'subject-checksums': 'SHA256SUMS' },
      ]);
    },
  },
  {
    rule: 'both stages of the image have the same base, of one build, and copy exactly what .containerignore allows',
    check: ({ instructions }) => {
      // The version and release of one build. Red Hat also has tags that move, such as 9.8.
      expect(instructions[0]).toMatch(/^ARG BASE_IMAGE=\S+(?::\d+\.\d+-\d{10}|@sha256:[0-9a-f]{64})$/);
      const text = instructions.join('\n');
      expect(findAll(text, /^FROM (.*)$/gm)).toEqual(['${BASE_IMAGE} AS build', '${BASE_IMAGE}']);
      const sources = findAll(text, /^COPY (?!--)(.*) \S+$/gm).flatMap((line) => line.split(' '));
      const allowed = findAll(readFile('.containerignore'), /^!(.*)$/gm);
      expect(sources.map((source) => source.replace(/\/$/, '')).toSorted()).toEqual(allowed.toSorted());
      expect(findAll(text, /^RUN (.*)$/gm)).toEqual(['npm ci --ignore-scripts', 'npm run build']);
    },
  },
];

function listCommands(job: Pick<Job, 'steps'> | undefined): readonly string[] {
  return required(job).steps.flatMap(({ run }) => run ?? []);
}

function listJobs({ workflows }: Installed): readonly (readonly [string, Job])[] {
  return [...workflows.values()].flatMap(({ jobs = {} }) => Object.entries(jobs));
}
