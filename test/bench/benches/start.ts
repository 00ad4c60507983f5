import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createAuthority } from '../../../src/certificates/authority.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { getSummary, interleave, measureMs } from '../interleave.ts';
import { guardProgram, prepareWebhook } from '../peers/webhook-process.ts';
import { createColumns, createGoalTable, type Goal, type Row, summaryColumns, type Table } from '../table.ts';
import { isDeniedAsInUse, type ReviewResponse, WebhookClient } from '../webhook-client.ts';

export const question = 'How long after its start does the guard give the first correct answer?';

const NAMESPACE = 'machineconfig-guard';
/** The name in the certificate that the guard issues. */
const SERVICE = `machineconfig-guard.${NAMESPACE}.svc`;
const SECRET = 'machineconfig-guard-ca';
const EMPTY_PROGRAM = 'node, an empty program';

const FULL = { fleets: [5, 2_000], rounds: 10 } as const;
const QUICK = { fleets: [5, 50], rounds: 2 } as const;

const TABLE = {
  title: 'From the start of the process to the first right answer, milliseconds',
  columns: [
    ...createColumns({ nodes: 'nodes', who: 'what' }),
    ...summaryColumns(),
    ...createColumns({ timesNode: `p50 × ${EMPTY_PROGRAM}` }, 1),
  ],
  notes: [
    'The bundle of the image. A client sends a review directly over TLS until it is answered.',
    'With --tls-secret the guard first creates an RSA key of 2,048 bits, which takes a random time.',
  ],
};

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const { fleets, rounds } = isQuick ? QUICK : FULL;
  const authority = await createAuthority({ days: 1, now: new Date() });
  await cluster.admin.create(`/api/v1/namespaces/${NAMESPACE}/secrets`, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: SECRET, namespace: NAMESPACE },
    stringData: { 'ca.crt': authority.certificatePem, 'ca.key': authority.privateKeyPem },
  });
  const [used, unused] = [await cluster.createConfig('guard'), await cluster.createConfig('guard')];
  const ca = authority.certificatePem;
  const measurements = [
    { name: EMPTY_PROGRAM, measure: () => measureMs(runEmptyProgram) },
    { name: 'guard, a config in use is denied', measure: () => measureStart(cluster, used, false) },
    { name: 'guard, an unused config is allowed', measure: () => measureStart(cluster, unused, true) },
    {
      name: 'guard, its certificate made first (--tls-secret), a config in use is denied',
      measure: () => measureStart(cluster, used, false, ca),
    },
  ];
  const rows: Row[] = [];
  const goals: Goal[] = [];
  for (const nodes of fleets) {
    await cluster.growFleet(nodes, [used]);
    cluster.log(`${nodes} nodes: ${rounds} rounds …`);
    const summaries = await interleave(measurements, rounds);
    for (const [who, summary] of summaries) {
      rows.push({
        nodes,
        who,
        ...summary,
        timesNode: summary.p50 / getSummary(summaries, EMPTY_PROGRAM).p50,
      });
      const goal = { what: `${nodes} nodes: ${who}, p50, ms`, found: summary.p50, atMost: 1_000 };
      if (who !== EMPTY_PROGRAM) goals.push(goal);
    }
  }
  return [{ ...TABLE, rows }, createGoalTable('The start and its goals', goals)];
}

async function runEmptyProgram(): Promise<void> {
  await once(spawn(process.execPath, ['--eval', ''], { stdio: 'ignore' }), 'exit');
}

/** Milliseconds to the first answer. `ca`: the CA in the Secret, if the guard issues its certificate. */
async function measureStart(cluster: BenchCluster, config: string, isAllowed: boolean, ca?: string): Promise<number> {
  const program = ca === undefined ? guardProgram() : guardProgram([`--tls-secret=${NAMESPACE}/${SECRET}`]);
  const { guarded } = cluster;
  const review = await cluster.buildReview(config);
  const prepared = await prepareWebhook(guarded.controlPlane, program, guarded.kubeconfig);
  const address = { url: prepared.url, ca: ca ?? prepared.ca };
  const client = new WebhookClient(address, 1, ca === undefined ? undefined : SERVICE);
  const isRight = isAllowed ? ({ allowed }: ReviewResponse) => allowed : isDeniedAsInUse;
  return await client.measureFirstAnswer(review, isRight, prepared.start);
}
