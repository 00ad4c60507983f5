import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import type { Release } from '../e2e/control-plane/releases.ts';

export type Environment = Readonly<ReturnType<typeof readEnvironment>>;

/** What the figures of a report depend on. */
export function readEnvironment({ kubernetes }: Release) {
  const changes = git('status', '--porcelain', '--', ':!test/bench/results');
  return {
    date: new Date().toISOString(),
    // A plus sign stands for uncommitted changes.
    commit: `${git('rev-parse', '--short=12', 'HEAD')}${changes === '' ? '' : '+'}`,
    kubernetes,
    node: process.versions.node,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    // Far above 0, other work disturbs the run.
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
}
