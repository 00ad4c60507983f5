import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { afterAll, expect, test } from 'vitest';

import { readEnvironment } from '../../bench/environment.ts';
import { replaceTable } from '../chaos/failure-modes-page.ts';
import { countAnswers } from '../chaos/run-fault.ts';
import { KubeClient } from '../control-plane/kube-client.ts';
import { awaitGuardCalls } from '../support/cluster.ts';
import { readAuthority, SERVICE_NAME } from '../support/guard-service.ts';
import { PATHS } from '../support/paths.ts';
import { isRight, Prober } from '../support/prober.ts';
import { IS_LONG, MUST_WRITE_DOCS, runBinaries } from '../support/run-binaries.ts';
import { USER_ID } from './guard-pods.ts';
import {
  HOST_NETWORK_FAULTS,
  SINGLE_HOST_NETWORK_FAULTS,
  SINGLE_REPLICA_FAULTS,
  TWO_REPLICA_FAULTS,
  type PodFault,
} from './pod-faults.ts';
import { FILE, formatPodTable, type PodFaultRow } from './pods-page.ts';
import { sharedNodeCluster } from './shared-node-cluster.ts';

const PAGE = fileURLToPath(new URL('../../../docs/failure-modes.md', import.meta.url));
interface LeaseSpec {
  readonly holderIdentity: string;
  readonly renewTime: string;
}

const ALL_FAULTS = [
  ...SINGLE_REPLICA_FAULTS,
  ...TWO_REPLICA_FAULTS,
  ...HOST_NETWORK_FAULTS,
  ...SINGLE_HOST_NETWORK_FAULTS,
];
/** Answers before and after the fault. */
const RIGHT_ANSWERS = 3;

const binaries = await runBinaries();
const environment = readEnvironment(binaries.release);
const { controlPlane, replicas: pods } = await sharedNodeCluster();
const { admin } = controlPlane.apiServer;
const [, second, third] = pods.cluster.nodes.map(({ name }) => name);
if (second === undefined || third === undefined) throw new Error('The tests need three nodes.');
// The faults hit one of two nodes.
await pods.kubectl('cordon', third);
const rows: PodFaultRow[] = [];
let installSeconds = 0;

afterAll(async () => {
  await pods.kubectl('uncordon', second);
  await pods.kubectl('uncordon', third);
  if (!MUST_WRITE_DOCS || rows.length !== ALL_FAULTS.length) return;
  const table = formatPodTable(rows, { installSeconds, environment });
  await writeFile(PAGE, replaceTable(await readFile(PAGE, 'utf8'), FILE, table));
});

/** Deletes steadily while the fault happens, and until all answers are right again. */
async function expectNoWrongAllow({ title, isHarmless, prepare, inject }: PodFault, replicas: number) {
  await prepare?.(pods);
  const prober = await Prober.start(controlPlane.apiServer.connection);
  try {
    await prober.awaitRightAnswers(performance.now(), RIGHT_ANSWERS);
    const injectedAt = performance.now();
    await inject(pods, prober);
    await prober.awaitRightAnswers(performance.now(), RIGHT_ANSWERS);
    await prober.stop();
    const probes = prober.probes.filter(({ sentAt }) => sentAt >= injectedAt);
    const failed = probes.filter((probe) => !isRight(probe));
    const lastFailedAt = Math.max(...failed.map(({ answeredAt }) => answeredAt));
    const recoverySeconds = failed.length === 0 ? undefined : (lastFailedAt - injectedAt) / 1_000;
    const row = {
      title,
      replicas,
      probeCount: probes.length,
      failed: countAnswers(failed),
      recoverySeconds,
    };
    console.log(row, new Set(failed.map(({ message }) => message)));
    expect(prober.errors).toEqual([]);
    if (isHarmless === true) expect(row.failed['guard unreachable'] ?? 0).toBe(0);
    rows.push(row);
  } finally {
    await prober.stop();
  }
}

test('the rendered installation runs under Pod Security restricted, as a user of the namespace', async () => {
  installSeconds = (await pods.install()) / 1_000;

  console.log({ installSeconds });
  await pods.awaitRollout();
  const [pod] = await pods.list();
  if (pod === undefined) throw new Error('There is no pod.');
  expect(pod.status.containerStatuses?.[0]?.restartCount).toBe(0);
  const [process] = await pods.listProcesses(pod);
  expect(await readFile(`/proc/${process}/status`, 'utf8')).toContain(`\nUid:\t${USER_ID}\t`);
  expect(await readFile(`/proc/${process}/mounts`, 'utf8')).toMatch(/^overlay \/ overlay ro,/m);
  // Without a security context.
  const run = pods.kubectl('run', 'other', '--image=any', '--dry-run=server');
  await expect(run).rejects.toThrow('violates PodSecurity "restricted:latest"');
}, 120_000);

test.for(SINGLE_REPLICA_FAULTS)(
  'one replica decides rightly, or not at all: $title',
  // The long version waits until a token of ten minutes has expired.
  { timeout: IS_LONG ? 900_000 : 300_000 },
  (fault) => expectNoWrongAllow(fault, 1),
);

test('a restarted container continues as the leader', async () => {
  const [pod] = await pods.list();
  if (pod === undefined) throw new Error('There is no pod.');
  const killedAt = Date.now();
  await pods.killContainer(pod);
  await pods.awaitRestart(pod);

  const findLease = async () => ((await admin.find(PATHS.lease)) as { spec: LeaseSpec } | undefined)?.spec;
  const isRenewed = async () => Date.parse((await findLease())?.renewTime ?? '') > killedAt;
  // Otherwise it waits 137 s until its own Lease expires.
  await expect.poll(isRenewed, { timeout: 10_000 }).toBe(true);
  expect((await findLease())?.holderIdentity).toBe(pod.metadata.name);
}, 120_000);

test('a second replica starts on the other node', async () => {
  await pods.useTwoReplicas();

  expect(new Set((await pods.list()).map(({ spec }) => spec.nodeName)).size).toBe(2);
}, 120_000);

test.for(TWO_REPLICA_FAULTS)('two replicas decide rightly, or not at all: $title', { timeout: 300_000 }, (fault) =>
  expectNoWrongAllow(fault, 2),
);

test('the pods use the ports of their nodes on the host network', async () => {
  await pods.reinstall('--host-network');

  const ca = await readAuthority(admin);
  const list = await pods.list();
  expect(new Set(list.map(({ spec }) => spec.nodeName)).size).toBe(2);
  for (const { status } of list) {
    expect(status.podIP).toBe(status.hostIP);
    expect((await fetch(`http://${status.podIP}:9844/readyz`)).status).toBe(200);
    const metrics = new KubeClient({ url: `https://${status.podIP}:9845`, ca, servername: SERVICE_NAME });
    expect((await metrics.request('GET', '/metrics')).status).toBe(401);
  }
  await awaitGuardCalls(admin);
}, 120_000);

test.for(HOST_NETWORK_FAULTS)('two replicas decide rightly, or not at all: $title', { timeout: 300_000 }, (fault) =>
  expectNoWrongAllow(fault, 2),
);

test('one replica runs on the host network of a single node', async () => {
  await pods.kubectl('cordon', second);

  await pods.reinstall('--host-network', '--single-node');

  expect(await pods.list()).toHaveLength(1);
}, 120_000);

test.for(SINGLE_HOST_NETWORK_FAULTS)(
  'one replica decides rightly, or not at all: $title',
  { timeout: 300_000 },
  (fault) => expectNoWrongAllow(fault, 1),
);
