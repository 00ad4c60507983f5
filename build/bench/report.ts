import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import type { Release } from '../../test/e2e/control-plane/releases.ts';

/** Describes what the figures depend on. Call it before the run: far above 0, the load disturbs the run. */
export function describeEnvironment({ kubernetes }: Release) {
  const changes = git('status', '--porcelain', '--', ':!build/*/results');
  // A plus sign stands for uncommitted changes.
  const commit = `${git('rev-parse', '--short=12', 'HEAD')}${changes === '' ? '' : '+'}`;
  const versions = `commit ${commit}: Kubernetes ${kubernetes}, Node ${process.versions.node}`;
  const machine = `${cpus().length} cores (${cpus()[0]?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${new Date().toISOString().slice(0, 10)}, ${versions}, ${machine}, load before ${loadavg()[0]?.toFixed(1)}`;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
}

/** Formats a table as Markdown. The first column names what was measured. */
export function formatTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const alignments = columns.map((_, index) => (index === 0 ? '---' : '---:'));
  return [columns, alignments, ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

/** A number with this many decimal places; nothing for the ratio of zeros. */
export function formatNumber(value: number, digits = 0): string {
  if (!Number.isFinite(value)) return '';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
