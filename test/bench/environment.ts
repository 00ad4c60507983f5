import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import type { Release } from '../e2e/control-plane/releases.ts';

/** What the figures of a report depend on. */
export interface Environment {
  /** Start of the run, RFC 3339. */
  readonly date: string;
  /** The commit of this repository, with a `+` if files have changed since. */
  readonly commit: string;
  readonly kubernetes: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** Load average of the minute before the run. If it is far above 0, other work disturbed the run. */
  readonly load: number;
}

export function readEnvironment(release: Release): Environment {
  const changes = git('status', '--porcelain', '--', ':!test/bench/results');
  return {
    date: new Date().toISOString(),
    commit: `${git('rev-parse', '--short=12', 'HEAD')}${changes === '' ? '' : '+'}`,
    kubernetes: release.kubernetes,
    node: process.versions.node,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
}
