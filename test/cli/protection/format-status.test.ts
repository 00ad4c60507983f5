import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { type ClusterStatus, formatStatusReport, summarizeEvidence } from '../../../src/cli/protection/status.ts';
import { CommandFormatter, inContext } from '../../../src/client/output/advice.ts';
import type { TextFormat } from '../../../src/client/output/text-format.ts';
import { GUARDED, inMode } from './guarded-evidence.ts';

const PROTECTED: ClusterStatus = { context: 'prod-a', server: 'api.prod-a:6443', ...summarizeEvidence(GUARDED) };
const AUDITED = summarizeEvidence({
  ...GUARDED,
  ...inMode('Audit'),
  deployment: { replicas: 2, readyReplicas: 1, flags: '' },
});
const EXPOSED: ClusterStatus = {
  ...PROTECTED,
  ...AUDITED,
  context: 'lab/api-lab:6443/alice smith',
  advice: AUDITED.advice && inContext(AUDITED.advice, 'lab'),
  danglingCount: 3,
  lastDenial: null,
};
const UNREACHABLE: ClusterStatus = {
  ...EXPOSED,
  context: 'edge',
  state: 'UNREACHABLE',
  unreadable: ['guard'],
  explanation: 'the API server at api.edge.example.com:6443 did not answer in time',
  advice: null,
};
const commands = new CommandFormatter('machineconfig-guard', { kubeconfig: 'lab.yaml' });

function format(options: Partial<TextFormat>, clusters: readonly ClusterStatus[]): string[] {
  const report = { readAt: '2026-11-23T10:00:00Z', clusters };
  return formatStatusReport({ width: 100, hasColors: false, commands, ...options }, report).split('\n');
}

test('prints a line for each cluster, then what to do about it', () => {
  expect(format({}, [PROTECTED, EXPOSED, UNREACHABLE])).toEqual([
    'CONTEXT                       STATE        MODE     REPLICAS  CERTIFICATES  DANGLING  LAST DENIAL',
    'prod-a                        PROTECTED    Enforce  2/2       Valid         0         3h',
    'lab/api-lab:6443/alice smith  EXPOSED      Audit    1/2       Valid         3         <none>',
    'edge                          UNREACHABLE',
    '',
    'lab/api-lab:6443/alice smith: EXPOSED: a config in use can be deleted: the mode of the guard is',
    '  Audit',
    '  Next: set the mode Enforce:',
    `    oc --kubeconfig lab.yaml --context lab patch mcguard cluster --type=merge -p '{"spec":{"mode":"Enforce"}}'`,
    '',
    'edge: UNREACHABLE: the API server at api.edge.example.com:6443 did not answer in time',
    '',
    'Next: see what a dry-run deletion shows:',
    '  machineconfig-guard verify --kubeconfig lab.yaml --context CONTEXT',
    '',
  ]);
});

test('advises a dry run once, and only for a cluster that was read', () => {
  const { advice } = summarizeEvidence({ ...GUARDED, lease: null, deployment: undefined });
  const count = (clusters: readonly ClusterStatus[]) =>
    format({}, clusters).filter((line) => line.includes('verify')).length;
  expect([[PROTECTED], [{ ...EXPOSED, advice }], [UNREACHABLE], [UNREACHABLE, PROTECTED]].map(count)).toEqual([
    1, 1, 0, 1,
  ]);
  expect(format({}, [UNREACHABLE, PROTECTED]).at(-2)).toMatch(/ --context prod-a$/);
});

test('prints <unknown> for a value that the user may not read, and <none> for one that does not exist', () => {
  const missing = { ...PROTECTED, replicas: null, readyReplicas: null };
  const [, first = '', second = ''] = format({}, [{ ...missing, unreadable: ['deployment'] }, missing]);
  expect(first.match(/<\w+>/g)).toEqual(['<unknown>']);
  expect(second.match(/<\w+>/g)).toEqual(['<none>']);
});

test('marks problems in red, which takes no space', () => {
  const lines = format({ hasColors: true }, [PROTECTED, EXPOSED]);
  expect(lines.map(stripVTControlCharacters)).toEqual(format({}, [PROTECTED, EXPOSED]));
  const [, , exposed = ''] = lines;
  expect(exposed).toContain('\u001B[31mEXPOSED\u001B[39m');
  expect(exposed).toContain('\u001B[31m1/2\u001B[39m');
});
