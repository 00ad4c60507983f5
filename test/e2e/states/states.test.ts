import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import type { RestoreReport } from '../../../src/cli/restore/restore-run.ts';
import type { ReferencesReport } from '../../../src/cli/who-uses/references-report.ts';
import { runProgram } from '../../cli/run-program.ts';
import { getState, type State, STATES } from '../../diagnosis/states.ts';
import { renderConfig } from '../../support/rendered-configs.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { clearStates, createState, toDiskFile } from '../support/cluster-states.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const api = controlPlane.connectApi();
const flags = ['--kubeconfig', controlPlane.apiServer.kubeconfig];

beforeEach(clear);
afterAll(async () => {
  api.close();
  await clear();
});

async function clear() {
  await admin.delete('/apis/certificates.k8s.io/v1/certificatesigningrequests');
  await clearStates(installed);
  await installed.clear();
}

async function runJson<Report>(...args: string[]): Promise<Report> {
  const { stdout, stderr } = await runProgram([...args, '--output', 'json', ...flags]);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Report;
}

/** Whether a new cluster can have the state: the API server writes managedFields and creation times itself. */
function canBeCreated({ nodes, pools, obstacles, requests }: State): boolean {
  const hasWrites = Object.values(nodes).some(
    ({ currentWrite, desiredWrite, drainingForMinutes, cordon, ageMinutes }) =>
      [currentWrite, desiredWrite, drainingForMinutes, cordon, ageMinutes].some((each) => each !== undefined),
  );
  const hasOldPool = Object.values(pools).some(
    ({ specWrittenMinutesAgo, conditions = [] }) =>
      specWrittenMinutesAgo !== undefined || conditions.some(({ type }) => type === 'Updated'),
  );
  return !hasWrites && !hasOldPool && obstacles === undefined && requests === undefined;
}

const CREATABLE = Object.entries(STATES).filter(([, state]) => canBeCreated(state));

test.for(CREATABLE)('check finds state %s on a real API server', async ([name, { problems, repairs = [] }]) => {
  await createState(installed, name);

  const { report } = await checkCluster(api);

  const codes = new Set(report.problems.map(({ code, recoverable }) => code + (recoverable ? '?' : '')));
  expect([...codes]).toEqual(problems);
  const lines = report.repairs.map(({ text, command, alternative }) => {
    return (alternative ? '# ' : '') + (command?.words.join(' ') ?? text);
  });
  expect(lines).toEqual(repairs);
});

/** What the other commands say of a config in a state. */
interface Row {
  readonly state: string;
  readonly pool: string;
  readonly label: 'A' | 'B' | 'X' | 'Y';
  /** How many references `who-uses` lists, by field. */
  readonly usedBy: Readonly<Record<string, number>>;
  /** The outcome of a planned restore, or why it is rejected. */
  readonly plan: string;
  /** A part of the denial, if the guard denies the deletion. */
  readonly denial?: string;
}

const ROWS: readonly Row[] = [
  { state: 'R1', pool: 'master', label: 'X', usedBy: { currentConfig: 3, desiredConfig: 3 }, plan: 'planned' },
  {
    state: 'R1',
    pool: 'master',
    label: 'Y',
    usedBy: { spec: 1 },
    plan: 'exists',
    denial: 'in use by pool master (spec). Deleting it would leave the pool Degraded, and',
  },
  {
    state: 'R12',
    pool: 'worker',
    label: 'X',
    usedBy: { currentConfig: 1, desiredConfig: 1, status: 1 },
    plan: 'planned',
  },
  { state: 'R13', pool: 'worker', label: 'X', usedBy: { desiredConfig: 1, spec: 1 }, plan: 'planned' },
  {
    state: 'R13 after the patch of the pool',
    pool: 'worker',
    label: 'A',
    usedBy: { currentConfig: 2, desiredConfig: 1, spec: 1, status: 1 },
    plan: 'exists',
    denial: 'nodes (worker-0',
  },
  {
    state: 'R17',
    pool: 'worker',
    label: 'B',
    usedBy: { desiredConfig: 1, spec: 1 },
    plan: 'exists',
    denial: 'node worker-0 (desiredConfig) and pool worker (spec)',
  },
  {
    state: 'R18',
    pool: 'worker',
    label: 'Y',
    usedBy: { currentConfig: 1, status: 1 },
    plan: 'exists',
    denial: 'node worker-0 (currentConfig)',
  },
  {
    state: 'R21',
    pool: 'worker',
    label: 'X',
    usedBy: { currentConfig: 1, desiredConfig: 1 },
    plan: 'exists',
    denial: 'Node worker-4 is in no pool',
  },
  {
    state: 'R21 with a config that is gone',
    pool: 'worker',
    label: 'X',
    usedBy: { currentConfig: 1, desiredConfig: 1 },
    plan: 'OtherPool',
  },
  {
    state: 'R23',
    pool: 'worker',
    label: 'B',
    usedBy: { desiredConfig: 1 },
    plan: 'exists',
    denial: 'node worker-2 (desiredConfig)',
  },
  {
    state: 'S26 with a config that is gone',
    pool: 'worker',
    label: 'X',
    usedBy: { machineConfig: 1 },
    plan: 'NotReferenced',
  },
  { state: 'a file was changed by hand', pool: 'worker', label: 'X', usedBy: {}, plan: 'planned' },
  { state: 'typo', pool: 'worker', label: 'X', usedBy: {}, plan: 'NotReferenced' },
];

test.for(ROWS)('in state $state, the commands agree about config $label of pool $pool', async (row) => {
  const { state, pool, label, usedBy, plan, denial } = row;
  const content = renderConfig(pool, label);
  const { name } = content;
  await createState(installed, state);

  const { configs } = await runJson<ReferencesReport>('who-uses', name);
  const fields = (configs[0]?.usedBy ?? []).map(({ field }) => field);
  const counts = [...new Set(fields)].map((field) => [field, fields.filter((each) => each === field).length]);
  expect(Object.fromEntries(counts)).toEqual(usedBy);

  const file = join(controlPlane.directory, `${name}.json`);
  await writeFile(file, toDiskFile(content));
  const report = await runJson<RestoreReport>('restore', name, '--from', file);
  expect(report.configs[0]?.rejection?.code ?? report.configs[0]?.outcome).toBe(plan);
  expect(report.written).toBe(false);
  // The spec of a pool can name the missing config itself.
  const hasOther = getState(state).configs.length > 0 && state !== 'R13';
  if (plan === 'planned' && hasOther) {
    expect(report.configs[0]?.differences.map(({ name: path }) => path)).toEqual(['/etc/chrony.conf']);
  }

  if (denial === undefined) return;
  await expect.poll(async () => statusOf(await cluster.dryRun(name)).message).toContain(denial);
});
