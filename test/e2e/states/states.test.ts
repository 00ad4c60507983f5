import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkCluster, type CheckReport } from '../../../src/cli/check/check-cluster.ts';
import type { RestoreReport } from '../../../src/cli/restore/restore-run.ts';
import type { ReferencesReport } from '../../../src/cli/who-uses/references-report.ts';
import { runProgram } from '../../cli/run-program.ts';
import { formatRepair, getState, renderConfig } from '../../diagnosis/states.ts';
import { startExecServer } from '../../support/exec-server.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { createDaemonPod, deleteDaemonPods } from '../restore/machines.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { OPERATOR_NAMESPACE, PATHS } from '../support/objects.ts';
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
const kubelet = await startExecServer(([, file = '']) =>
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

interface Cases {
  readonly plans: readonly (Readonly<Record<'state' | 'config' | 'usedBy' | 'plan', string>> & {
    readonly denial?: string;
  })[];
  readonly repairs: readonly (Omit<Disk, 'config'> & {
    readonly state: string;
    readonly disk?: string;
    readonly end: 'fine' | 'person';
    readonly commands: readonly string[];
  })[];
}
const cases = parse(await readFile(join(import.meta.dirname, 'states.yaml'), 'utf8')) as Cases;

/** The config of a letter and a pool, such as `X master`. */
function readConfig(text: string) {
  const [letter = '', pool = ''] = text.split(' ');
  return renderConfig(letter, pool);
}

test.for(cases.plans)('in state $state, config $config is used by $usedBy, and its restore is $plan', async (row) => {
  const { state, config, usedBy, plan, denial } = row;
  const content = readConfig(config);
  const { name, spec } = content;
  await states.create(state, { config: content });

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

test.for(cases.repairs)('the advice of state $state leads out', async ({ state, disk, end, commands, ...daemon }) => {
  await states.create(state, disk === undefined ? undefined : { config: readConfig(disk), ...daemon });
  const run: string[] = [];
  let [next, bad]: [readonly string[] | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (;;) {
    await states.settle();
    const report = await checkCluster(api);
    expect(countBad(report)).toBeLessThanOrEqual(bad);
    bad = countBad(report);
    next ??= report.repairs[0]?.command?.words as readonly string[] | undefined;
    if (report.ok || next === undefined) break;
    const line = formatRepair({ text: '', command: next, alternative: false });
    expect(run).not.toContain(line);
    run.push(line);
    next = await follow(next);
  }
  const advised = run.filter((line) => !line.endsWith('--confirm'));
  expect([bad === 0 ? 'fine' : 'person', ...advised]).toEqual([end, ...commands]);
});
