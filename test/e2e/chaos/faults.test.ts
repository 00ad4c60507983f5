import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { afterAll, expect, test } from 'vitest';

import { readEnvironment } from '../../bench/environment.ts';
import { IS_LONG, MUST_WRITE_DOCS } from '../support/run-binaries.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { formatTable, replaceTable, type Row } from './failure-modes-page.ts';
import { FAULTS } from './faults.ts';
import { problemsOf, runFault } from './run-fault.ts';

const PAGE = fileURLToPath(new URL('../../../docs/failure-modes.md', import.meta.url));
const cluster = await sharedGuardedCluster();
const measuredOn = readEnvironment(cluster.controlPlane.release);
const rows: Row[] = [];

afterAll(async () => {
  await cluster.launchGuard();
  const isComplete = rows.length === FAULTS.length;
  if (!MUST_WRITE_DOCS || !isComplete) return;
  await writeFile(PAGE, replaceTable(await readFile(PAGE, 'utf8'), 'npm run chaos', formatTable(rows, measuredOn)));
}, 60_000);

test.for(FAULTS.filter(({ isInShortRun }) => IS_LONG || isInShortRun === true))(
  'decides rightly during the fault and recovers: $name',
  { timeout: 400_000 },
  async (fault) => {
    const result = await runFault(cluster, fault);

    const { during, messages, recoverySeconds, indexSeconds } = result;
    console.log(during, { messages, recoverySeconds, indexSeconds });
    expect(problemsOf(fault, result)).toEqual([]);
    rows.push({ fault, result });
  },
);
