import { expect, test } from 'vitest';
import { advise, CommandFormatter } from '../../../src/client/output/advice.ts';
import { formatRestoreReport } from '../../../src/cli/restore/format-report.ts';
import type { ConfigReport, RestoreReport } from '../../../src/cli/restore/restore-report.ts';

const ESCAPE = '\u001b[2J';

function createReport(config: Partial<ConfigReport>): RestoreReport {
  return {
    server: 'https://api:6443',
    confirmed: true,
    ok: false,
    problem: null,
    advice: [],
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
  ['reason', { rejection: { code: 'NameDiffers', reason: `it contains ${ESCAPE}`, advice: advise('a') } }],
  [
    'advice',
    {
      rejection: {
        code: 'NameDiffers',
        reason: 'r',
        advice: advise(`read ${ESCAPE}`, ['oc', 'get', ESCAPE]),
      },
    },
  ],
])('prints no escape sequence that the %s contains', (_field, config) => {
  const commands = new CommandFormatter('machineconfig-guard', {});
  const text = formatRestoreReport({ width: 100, hasColors: false, commands }, createReport(config));
  expect(text).toContain('[2J');
  expect(text).not.toContain('\u001b');
});
