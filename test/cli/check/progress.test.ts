import { beforeEach, expect, test } from 'vitest';
import { Progress } from '../../../src/cli/check/progress.ts';
import type { CheckReport } from '../../../src/inspect/check-report.ts';
import { inspectedNode, inspectedPool } from '../../inspect/snapshot.ts';
import { checkNodesAndPools, WORKER } from './reports.ts';

const POOL = inspectedPool('worker', { spec: WORKER, status: WORKER });
const DONE = { current: WORKER, desired: WORKER };
let text: string;
let progress: Progress;

beforeEach(() => {
  text = '';
  progress = new Progress((more) => void (text += more), 30 * 60_000);
});

function reportOn(nodes: Readonly<Record<string, { current?: string; desired?: string }>>): CheckReport {
  const inspected = Object.entries(nodes).map(([name, configs]) => inspectedNode(name, configs));
  return checkNodesAndPools(inspected, [POOL]).report;
}

test('prints one line per change with the elapsed time', () => {
  progress.printReport(reportOn({ a: {}, b: {}, c: DONE }), 400);
  progress.printReport(reportOn({ a: {}, b: {}, c: DONE }), 2_500);
  progress.printReport(reportOn({ a: { current: WORKER }, b: DONE, c: DONE }), 4_900);
  progress.printFailure('the API server is unreachable', 65_000);
  progress.printFailure('the API server is unreachable', 67_000);
  progress.printReport(reportOn({ a: DONE, b: DONE, c: DONE }), 130_000);
  expect(text).toBe(
    [
      '     0s  waiting up to 30m00s: 1 of 3 nodes and 1 of 1 pool fine',
      '     0s  node a: has not reported a configuration yet',
      '     0s  node b: has not reported a configuration yet',
      '     4s  node a: has not reported its desiredConfig yet',
      '     4s  node b: fine',
      '     4s  2 of 3 nodes and 1 of 1 pool fine',
      '  1m05s  the API server is unreachable; retrying',
      '  2m10s  the API server is reachable again',
      '  2m10s  node a: fine',
      '',
    ].join('\n'),
  );
});

test('summarizes more than twenty changes', () => {
  progress.printReport(reportOn({ a: DONE }), 0);
  expect(text).toBe('');
  const nodes = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`n${index}`, {}]));
  progress.printReport(reportOn(nodes), 0);
  const lines = text.trimEnd().split('\n');
  expect(lines).toHaveLength(21);
  expect(lines.at(-2)).toBe('     0s  and 981 more changes');
});
