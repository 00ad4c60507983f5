import type { Environment } from '../../bench/environment.ts';
import { formatCounts, formatOrigin } from '../chaos/failure-modes-page.ts';
import type { AnswerCounts } from '../chaos/run-fault.ts';

/** The file that writes the table in docs/failure-modes.md. */
export const FILE = 'test/e2e/node/pods.test.ts';

/** A fault and the answers to all deletions meanwhile. */
export interface PodFaultRow {
  readonly title: string;
  readonly replicas: number;
  readonly probeCount: number;
  /** The answers that were not right. */
  readonly failed: AnswerCounts;
  /** From the fault to the last answer that was not right. Undefined if all were right. */
  readonly recoverySeconds: number | undefined;
}

/** Markdown. */
export function formatPodTable(
  rows: readonly PodFaultRow[],
  { installSeconds, environment }: { readonly installSeconds: number; readonly environment: Environment },
): string {
  const deletions = rows.reduce((sum, { probeCount }) => sum + probeCount, 0);
  const install = `${installSeconds.toFixed(1)} s from \`oc apply\` to the first right answer`;
  return [
    formatOrigin(`npm run test:e2e -- ${FILE}`, environment, `${deletions} deletions, 0 wrongly allowed; ${install}`),
    '',
    '| event | replicas | deletions | without a correct answer | last of them, s |',
    '|---|---:|---:|---|---:|',
    ...rows.map(({ title, replicas, probeCount, failed, recoverySeconds }) => {
      const answers = formatCounts(failed) || 'none';
      return `| ${title} | ${replicas} | ${probeCount} | ${answers} | ${recoverySeconds?.toFixed(1) ?? ''} |`;
    }),
  ].join('\n');
}
