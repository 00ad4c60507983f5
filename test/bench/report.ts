import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import type { Release } from '../e2e/control-plane/releases.ts';

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  /** A cell for each column. The first one says what was measured. */
  readonly rows: readonly (readonly string[])[];
  /** How to read the table, one sentence each. */
  readonly notes: readonly string[];
}

/** The result of the bench or the soak. */
export interface Report {
  readonly question: string;
  readonly command: string;
  /** From {@link describeEnvironment}. */
  readonly environment: string;
  readonly seconds: number;
  readonly tables: readonly Table[];
}

/** Describes what the figures depend on. Call it before the run: far above 0, the load disturbs the run. */
export function describeEnvironment({ kubernetes }: Release) {
  const changes = git('status', '--porcelain', '--', ':!test/bench/results');
  // A plus sign stands for uncommitted changes.
  const commit = `${git('rev-parse', '--short=12', 'HEAD')}${changes === '' ? '' : '+'}`;
  const versions = `commit ${commit}: Kubernetes ${kubernetes}, Node ${process.versions.node}`;
  const machine = `${cpus().length} cores (${cpus()[0]?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${new Date().toISOString().slice(0, 10)}, ${versions}, ${machine}, load before ${loadavg()[0]?.toFixed(1)}`;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
}

/** Formats a report as Markdown. */
export function formatReport({ question, command, environment, seconds, tables }: Report): string {
  const circumstances = `\`${command}\`, ${environment}; ${seconds} s.`;
  return [`# ${question}`, '', circumstances, ...tables.flatMap(formatTable), ''].join('\n');
}

function formatTable({ title, columns, rows, notes }: Table): string[] {
  const formatRow = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const alignments = columns.map((_, index) => (index === 0 ? '---' : '---:'));
  const table = [formatRow(columns), formatRow(alignments), ...rows.map(formatRow)];
  return ['', `## ${title}`, '', ...table, ...(notes.length === 0 ? [] : ['', ...notes])];
}

/** A number with this many decimal places; nothing if it was not measured. */
export function formatNumber(value: number | undefined, digits = 0): string {
  if (value === undefined || !Number.isFinite(value)) return '';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
