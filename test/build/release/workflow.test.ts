import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import packageJson from '../../../package.json' with { type: 'json' };

interface Job {
  readonly permissions: Readonly<Record<string, string>>;
  readonly needs?: readonly string[];
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

const TEXT = readFileSync(path.join(import.meta.dirname, '../../../.github/workflows/release.yaml'), 'utf8');
const { permissions, jobs } = parse(TEXT) as { permissions: object; jobs: Readonly<Record<string, Job>> };
const STEPS = Object.values(jobs).flatMap(({ steps }) => steps);

test('every action is pinned by the digest of its commit, with its version beside it', () => {
  const actions = TEXT.match(/uses: .*/g) ?? [];
  expect(actions.length).toBeGreaterThan(5);
  for (const action of actions) expect(action).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test('every npm script exists', () => {
  const scripts = STEPS.flatMap(({ run = '' }) => [...run.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name));
  expect(scripts).toContain('release');
  expect(scripts.filter((name) => !Object.hasOwn(packageJson.scripts, name))).toEqual([]);
});

test('only the job that publishes can write, after the others, and it runs no code of the repository', () => {
  expect(permissions).toEqual({});
  for (const [name, { permissions: rights, needs, steps }] of Object.entries(jobs)) {
    const canWrite = Object.values(rights).includes('write');
    expect(canWrite).toBe(name === 'publish');
    if (!canWrite) continue;
    expect(needs).toEqual(['test', 'build']);
    expect(steps.map(({ uses = '' }) => uses).join()).not.toContain('actions/checkout');
    expect(steps.map(({ run = '' }) => run).join('\n')).not.toMatch(/\bnpm\b/);
  }
});
