import { execFile } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import type { Release } from '../e2e/control-plane/releases.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What figures depend on: part of every report. */
export interface Environment {
  /** When it began, RFC 3339. */
  readonly date: string;
  /** Of this repository; with `+` where files were changed since. */
  readonly commit: string;
  readonly kubernetes: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** Load average of the minute before: much more than 0 means that the machine had other things to do. */
  readonly load: number;
}

export async function environment(release: Release): Promise<Environment> {
  const processors = cpus();
  return {
    date: new Date().toISOString(),
    commit: await commit(),
    kubernetes: release.kubernetes,
    node: process.versions.node,
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

async function commit(): Promise<string> {
  try {
    const changes = await git('status', '--porcelain', '--', ':!test/bench/results');
    return `${await git('rev-parse', '--short=12', 'HEAD')}${changes === '' ? '' : '+'}`;
  } catch {
    return 'unknown';
  }
}

async function git(...args: string[]): Promise<string> {
  return (await promisify(execFile)('git', args, { cwd: ROOT })).stdout.trim();
}
