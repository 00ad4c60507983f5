import { expect, test } from 'vitest';
import { formatRestoreReport } from '../../../src/cli/restore/format-report.ts';
import type { ConfigReport, RestoreReport } from '../../../src/cli/restore/restore-run.ts';

const ESCAPE = '\u001b[2J';

function createReport(config: Partial<ConfigReport>): RestoreReport {
  return {
    server: 'https://api:6443',
    confirmed: true,
    ok: false,
    problem: null,
    configs: [
      {
        name: 'rendered-worker-a',
        source: 'file',
        pool: null,
        outcome: 'rejected',
        namedBy: null,
        rejection: null,
        warnings: [],
        steps: [],
        ...config,
      } as ConfigReport,
    ],
    pausedPools: [],
    pendingCertificateRequests: [],
  };
}

test.each<[string, Partial<ConfigReport>]>([
  ['name', { name: `rendered-${ESCAPE}` } as Partial<ConfigReport>],
  ['source', { source: `dir/${ESCAPE}.json` }],
  ['reason', { rejection: { code: 'NameDiffers', reason: `it contains ${ESCAPE}`, advice: 'a' } }],
  ['advice', { rejection: { code: 'NameDiffers', reason: 'r', advice: `read ${ESCAPE}` } }],
])('prints no escape sequence that the %s contains', (_field, config) => {
  const text = formatRestoreReport({ width: 100, hasColors: false }, createReport(config));
  expect(text).toContain('[2J');
  expect(text).not.toContain('\u001b');
});
