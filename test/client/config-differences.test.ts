import { expect, test } from 'vitest';
import { formatDifferences } from '../../src/client/config-differences.ts';

const CHANGED = {
  kind: 'file',
  name: '/etc/chrony.conf',
  copy: 'sha256:26d59e9d9407',
  cluster: 'sha256:5bca4ad90f2e',
  setBy: ['99-master-chrony'],
};

test.each([
  [90, 'DIFFERENT NAME COPY CLUSTER SET BY', undefined],
  [80, 'DIFFERENT NAME COPY SET BY', '(-o json also has CLUSTER)'],
  [50, 'DIFFERENT NAME SET BY', '(-o json also has COPY and CLUSTER)'],
])('in a terminal of %d columns, prints the columns %s', (columns, headers, note) => {
  const format = { width: columns, columns, hasColors: false };
  const [header, row = '', lastLine] = formatDifferences(format, [CHANGED], 'COPY').trimEnd().split('\n');
  expect(header?.replaceAll(/ +/g, ' ')).toBe(headers);
  expect(lastLine).toBe(note);
  expect(row.length).toBeLessThanOrEqual(columns);
});
