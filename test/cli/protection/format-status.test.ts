import { expect, test } from 'vitest';
import { formatStatusReport, type StatusEntry, type StatusReport } from '../../../src/cli/protection/format-status.ts';
import { advise, CommandFormatter, inContext } from '../../../src/client/output/advice.ts';
import type { TableFormat } from '../../../src/client/output/text-format.ts';

const PROTECTED: StatusEntry = {
  context: 'prod-a',
  server: 'api.prod-a.example.com:6443',
  state: 'PROTECTED',
  protected: true,
  by: 'guard',
  explanation: 'the guard is registered, and its replicas are ready',
  advice: null,
  evidence: ['webhook: machineconfig-guard'],
  unreadable: [],
  version: '0.1.0',
  mode: 'Enforce',
  failurePolicy: 'Fail',
  replicas: 2,
  readyReplicas: 2,
  leader: 'machineconfig-guard-7d9f8c6b5d-x2x4z',
  leaderRenewedAt: '2026-11-23T07:59:40Z',
  certificates: { valid: true, reason: 'Valid', message: 'serving until 2026-11-30' },
  protectedConfigs: 12,
  danglingCount: 0,
  lastDenial: { time: '2026-11-23T05:00:00Z', name: 'rendered-worker-1', user: 'alice' },
};
const EXPOSED: StatusEntry = {
  ...PROTECTED,
  context: 'lab/api-lab:6443/alice smith',
  state: 'EXPOSED',
  protected: false,
  by: null,
  explanation: 'the mode of the guard is Audit',
  advice: inContext(advise('set the mode Enforce', ['oc', 'patch', 'mcguard', 'cluster']), 'lab'),
  mode: 'Audit',
  readyReplicas: 1,
  danglingCount: 3,
  lastDenial: null,
};
const UNREACHABLE: StatusEntry = {
  ...PROTECTED,
  context: 'edge',
  state: 'UNREACHABLE',
  protected: false,
  by: null,
  evidence: [],
  explanation: 'the API server at api.edge.example.com:6443 did not answer in time',
};
const NOTICE = ['Next: test a deletion:', '  machineconfig-guard verify --kubeconfig lab.yaml'];
const commands = new CommandFormatter('machineconfig-guard', { kubeconfig: 'lab.yaml' });

function format(options: Partial<TableFormat>, clusters: readonly StatusEntry[]): string[] {
  const report: StatusReport = { readAt: '2026-11-23T08:00:00Z', clusters };
  return formatStatusReport({ width: 100, hasColors: false, commands, ...options }, report).split('\n');
}

test('prints a line for each cluster, then what to do about it', () => {
  expect(format({}, [PROTECTED, EXPOSED, UNREACHABLE])).toEqual([
    'CONTEXT                       STATE        MODE     REPLICAS  CERTIFICATES  DANGLING  LAST DENIAL',
    'prod-a                        PROTECTED    Enforce       2/2  Valid                0           3h',
    'lab/api-lab:6443/alice smith  EXPOSED      Audit         1/2  Valid                3       <none>',
    'edge                          UNREACHABLE',
    '',
    'lab/api-lab:6443/alice smith: EXPOSED: the mode of the guard is Audit',
    '  Next: set the mode Enforce:',
    '    oc --kubeconfig lab.yaml --context lab patch mcguard cluster',
    '',
    'edge: UNREACHABLE: the API server at api.edge.example.com:6443 did not answer in time',
    '',
    ...NOTICE,
    '',
  ]);
});

test('prints every column with -o wide', () => {
  expect(format({ isWide: true }, [PROTECTED]).slice(0, 2)).toEqual([
    'CONTEXT  STATE      VERSION  MODE     FAILURE POLICY  REPLICAS  LEADER' +
      '                                CERTIFICATES  IN USE  DANGLING  LAST DENIAL',
    'prod-a   PROTECTED  0.1.0    Enforce  Fail                 2/2' +
      '  machineconfig-guard-7d9f8c6b5d-x2x4z  Valid             12         0           3h',
  ]);
});

test('prints <unknown> for a value that the user may not read, and <none> for one that does not exist', () => {
  const missing = { failurePolicy: null, replicas: null, readyReplicas: null, leader: null };
  const unreadable = { ...PROTECTED, ...missing, unreadable: ['webhook', 'Deployment', 'Lease'] } as const;
  const [, first = '', second = ''] = format({ isWide: true }, [unreadable, { ...PROTECTED, ...missing }]);
  expect(first.match(/<\w+>/g)).toEqual(['<unknown>', '<unknown>', '<unknown>']);
  expect(second.match(/<\w+>/g)).toEqual(['<none>', '<none>', '<none>']);
});

test('says what only the floor cannot do', () => {
  const entry = {
    ...PROTECTED,
    by: 'floor',
    explanation: 'only the policy floor',
    advice: advise('install the guard'),
  } as const;
  const lines = format({}, [entry]);
  expect(lines).toContain('prod-a: PROTECTED: only the policy floor');
  expect(lines[1]).toMatch(/^prod-a +PROTECTED \(floor\) /);
});

test('marks problems in red', () => {
  const [, , exposed = ''] = format({ hasColors: true }, [PROTECTED, EXPOSED]);
  expect(exposed).toContain('\u001B[31mEXPOSED\u001B[39m');
  expect(exposed).toContain('\u001B[31m1/2\u001B[39m');
});

test('prints an untrusted text as one printable line', () => {
  const untrusted = 'a\nb\u001B[31m';
  const lines = format({ isWide: true }, [
    { ...PROTECTED, version: untrusted },
    { ...EXPOSED, explanation: `a certificate of the guard has expired (${untrusted})` },
  ]);
  expect(lines.join('')).not.toContain('\u001B');
  expect(lines).toContainEqual(expect.stringContaining('EXPOSED: a certificate of the guard has expired (a b [31m)'));
});
