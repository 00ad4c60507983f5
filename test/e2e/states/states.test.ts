import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeEach, expect, test } from 'vitest';

import { checkCluster, type CheckReport } from '../../../src/cli/check/check-cluster.ts';
import type { RestoreReport } from '../../../src/cli/restore/restore-run.ts';
import type { ReferencesReport } from '../../../src/cli/who-uses/references-report.ts';
import { runProgram } from '../../cli/run-program.ts';
import { formatRepair, getState, renderConfig, SET_SPEC, SET_STATUS } from '../../diagnosis/states.ts';
import { ExecServer } from '../../support/exec-server.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { createDaemonPod, deleteDaemonPods } from '../restore/machines.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { OPERATOR_NAMESPACE, PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { type Disk, StateCluster } from './state-cluster.ts';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const states = new StateCluster(installed);
const api = controlPlane.connectApi();
const DAEMON_PODS = `${PATHS.namespaces}/${OPERATOR_NAMESPACE}/pods`;
const flags = ['--kubeconfig', controlPlane.apiServer.kubeconfig];
/** The node whose disk the next command reads. */
let readNode = '';
const kubelet = await ExecServer.start(([, file = '']) =>
  file.endsWith('/currentconfig')
    ? { stderr: 'cat: No such file', exitCode: 1 }
    : { stdout: states.readDisk(readNode) },
);

beforeEach(async () => {
  await admin.delete('/apis/certificates.k8s.io/v1/certificatesigningrequests');
  await deleteDaemonPods(cluster);
  await installed.clear();
});
afterAll(async () => {
  api.close();
  kubelet.stop();
  await installed.clear();
  await deleteDaemonPods(cluster);
});

async function runJson<Report>(...args: string[]): Promise<Report> {
  const { stdout, stderr } = await runProgram([...args, '--output', 'json', ...flags]);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Report;
}

/** What check says of the state, who-uses of a config, the plan of its restore, and the answer to its deletion. */
test.for<[string, letter: string, pool: string, usedBy: string, plan: string, denial: string | undefined]>([
  ['R1', 'X', 'master', '3 currentConfig, 3 desiredConfig', 'planned', undefined],
  [
    'R1',
    'Y',
    'master',
    '1 spec',
    'exists',
    'in use by pool master (spec). Deleting it would leave the pool Degraded, and',
  ],
  ['R7', 'X', 'master', '3 reason', 'planned', undefined],
  ['R12', 'X', 'worker', '1 currentConfig, 1 desiredConfig, 1 status', 'planned', undefined],
  ['R13', 'X', 'worker', '1 desiredConfig, 1 spec', 'planned', undefined],
  ['R13-fixed', 'A', 'worker', '2 currentConfig, 1 desiredConfig, 1 spec, 1 status', 'exists', 'nodes (worker-0'],
  ['R17', 'B', 'worker', '1 desiredConfig, 1 spec', 'exists', 'node worker-0 (desiredConfig) and pool worker (spec)'],
  ['R18', 'Y', 'worker', '1 currentConfig, 1 status', 'exists', 'node worker-0 (currentConfig)'],
  ['R21', 'X', 'worker', '1 currentConfig, 1 desiredConfig', 'exists', 'Node worker-4 is in no pool'],
  ['R21-gone', 'X', 'worker', '1 currentConfig, 1 desiredConfig', 'OtherPool', undefined],
  ['R23', 'B', 'worker', '1 desiredConfig', 'exists', 'node worker-2 (desiredConfig)'],
  ['R38', 'X', 'master', '', 'planned', undefined],
  ['typo', 'X', 'worker', '', 'NotReferenced', undefined],
])('in state %s, config %s of pool %s is used by "%s", and its restore is %s', async (row) => {
  const [state, letter, pool, usedBy, plan, denial] = row;
  const { name, spec } = renderConfig(letter, pool);
  await states.create(state, { config: { ...renderConfig(letter, pool) } });

  const { problems, repairs } = await checkCluster(api);
  const codes = new Set(problems.map(({ code, recoverable }) => code + (recoverable ? '?' : '')));
  const lines = repairs.map(({ command, alternative }) =>
    formatRepair({ text: '', command: command?.words as string[], alternative }),
  );
  expect([[...codes].join(' '), ...lines]).toEqual(getState(state).expected);

  const { configs } = await runJson<ReferencesReport>('who-uses', name);
  const fields = (configs[0]?.usedBy ?? []).map(({ field }) => field);
  const counts = [...new Set(fields)].map((field) => `${fields.filter((each) => each === field).length} ${field}`);
  expect(counts.join(', ')).toBe(usedBy);

  const file = join(controlPlane.directory, `${name}.json`);
  await writeFile(file, JSON.stringify({ metadata: { name }, spec }));
  const report = await runJson<RestoreReport>('restore', name, '--from', file);
  expect(report.configs[0]?.rejection?.code ?? report.configs[0]?.outcome).toBe(plan);
  expect(report.written).toBe(false);
  // The pool of R13 names the missing config itself.
  if (plan === 'planned' && state !== 'R13')
    expect(report.configs[0]?.differences.map(({ name: path }) => path)).toEqual(['/etc/chrony.conf']);

  if (denial === undefined) return;
  await expect.poll(async () => statusOf(await cluster.dryRun(name)).message).toContain(denial);
});

/** Runs a command of an advice while the operator and the daemons act. Returns what the command advises next. */
async function follow(words: readonly string[]): Promise<readonly string[] | undefined> {
  const [program = '', ...args] = words;
  if (program === 'oc') {
    await kubectlOk(controlPlane, args);
    return undefined;
  }
  readNode = args.find((arg) => arg.startsWith('node/'))?.replace('node/', '') ?? readNode;
  const pods = await admin.list(DAEMON_PODS);
  const hasPod = pods.some(({ spec }) => (spec as { readonly nodeName?: string }).nodeName === readNode);
  if (!hasPod) await createDaemonPod(cluster, readNode, kubelet.port);
  const { configs, advice } = await states.actDuring(runJson<RestoreReport>(...args));
  if (configs.some(({ outcome }) => outcome === 'planned')) return [...words, '--confirm'];
  const next = advice[0]?.command as unknown as string | null | undefined;
  return next?.replace(/ --kubeconfig \S+/, '').split(' ');
}

function countBad({ nodes, pools }: CheckReport): number {
  return [...nodes, ...pools].filter(({ ok }: { readonly ok: boolean }) => !ok).length;
}

const X_MASTER = { config: renderConfig('X', 'master') };
const X_WORKER = { config: renderConfig('X', 'worker') };
const OLD_DAEMON = { ...X_MASTER, isOldDaemon: true };
const RESET_TO_A = 'oc annotate node worker-0 desiredConfig=A';
const UPDATED_A = { config: renderConfig('A', 'worker'), hasUpdateFile: true };

/** The first advice of each state, until everything is fine or a person has to act. */
test.for<[string, Disk | undefined, end: 'fine' | 'person', ...commands: string[]]>([
  ['R1', X_MASTER, 'fine', 'restore X --from node/control0', 'restore X --from node/control0 --confirm'],
  ['R7', OLD_DAEMON, 'fine', 'restore X --from node/control0', 'restore X --from node/control0 --confirm'],
  ['R7-empty', OLD_DAEMON, 'fine', 'restore X --from node/control0', 'restore X --from node/control0 --confirm'],
  ['R9', undefined, 'fine'],
  ['R12', X_WORKER, 'fine', 'restore X --from node/worker-0', 'restore X --from node/worker-0 --confirm'],
  ['R13', UPDATED_A, 'fine', SET_SPEC('worker', 'A'), RESET_TO_A],
  ['R13-fixed', UPDATED_A, 'fine', RESET_TO_A],
  ['R18', { config: renderConfig('B', 'worker') }, 'fine', 'oc annotate node worker-0 currentConfig=B'],
  [
    'R21-gone',
    X_WORKER,
    'fine',
    'oc label node worker-4 worker=',
    'restore X --from node/worker-4',
    'restore X --from node/worker-4 --confirm',
  ],
  ['R22-two', undefined, 'fine', 'oc label node worker-0 infra-'],
  [
    'R38',
    X_MASTER,
    'fine',
    'restore --from node/control1',
    'restore --from node/control1 --confirm',
    'oc annotate node control1 control2 currentConfig=X desiredConfig=X',
  ],
  [
    'two missing',
    X_WORKER,
    'fine',
    'oc annotate node worker-0 desiredConfig=W',
    'restore X --from node/worker-0',
    'restore X --from node/worker-0 --confirm',
  ],
  ['no config of the pool', UPDATED_A, 'fine', SET_SPEC('worker', 'A'), RESET_TO_A],
  ['paused roll-out', undefined, 'fine', 'oc patch machineconfigpool master --type=merge -p {"spec":{"paused":false}}'],
  ['every machine Degraded', undefined, 'person', SET_STATUS('master', 'Y')],
  ['Unreconcilable', undefined, 'person'],
  [
    'typo',
    { config: renderConfig('W', 'worker') },
    'fine',
    'oc annotate node worker-0 currentConfig=W desiredConfig=W',
  ],
])('the advice of state %s leads out', async ([state, disk, end, ...expected]) => {
  await states.create(state, disk);
  const commands: string[] = [];
  let [next, bad]: [readonly string[] | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (;;) {
    await states.settle();
    const report = await checkCluster(api);
    expect(countBad(report)).toBeLessThanOrEqual(bad);
    bad = countBad(report);
    next ??= report.repairs[0]?.command?.words as readonly string[] | undefined;
    if (report.ok || next === undefined) break;
    const line = formatRepair({ text: '', command: next, alternative: false });
    expect(commands).not.toContain(line);
    commands.push(line);
    next = await follow(next);
  }
  expect([bad === 0 ? 'fine' : 'person', ...commands]).toEqual([end, ...expected]);
  expect(commands.length).toBeLessThanOrEqual(4);
});
