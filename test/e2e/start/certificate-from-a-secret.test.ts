import { connect } from 'node:tls';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { type Authority, createAuthority } from '../../../src/certificates/authority.ts';
import { GuardProcess } from '../support/guard-process.ts';
import { GuardedCluster } from '../support/guarded-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';

const NAMESPACE = 'machineconfig-guard';
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
const NAME = 'machineconfig-guard-ca';

let guarded: GuardedCluster;
let first: Authority;
let second: Authority;

beforeAll(async () => {
  guarded = await GuardedCluster.start(await runBinaries());
  const now = new Date();
  [first, second] = await Promise.all([createAuthority({ days: 30, now }), createAuthority({ days: 30, now })]);
});

afterAll(() => guarded.stop());

function dataOf({ certificatePem, privateKeyPem }: Authority): Record<string, string> {
  return { 'ca.crt': certificatePem, 'ca.key': privateKeyPem };
}

/** Does the guard present a certificate of this authority for its Service? */
async function trusts(guard: GuardProcess, ca: string): Promise<string> {
  const { hostname, port } = new URL(guard.url);
  return await new Promise((resolve) => {
    const socket = connect(
      { host: hostname, port: Number(port), servername: `${NAMESPACE}.${NAMESPACE}.svc`, ca },
      () => {
        socket.destroy();
        resolve('trusted');
      },
    );
    socket.on('error', ({ message }) => {
      resolve(message);
    });
  });
}

test('with its own rights the guard serves with a leaf of the authority in its Secret, and follows when that is exchanged', async () => {
  const { admin } = guarded.controlPlane.apiServer;
  await admin.create(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: NAME, namespace: NAMESPACE },
    stringData: dataOf(first),
  });
  const { directory, leash } = guarded.controlPlane;
  const tlsSecret = { name: `${NAMESPACE}/${NAME}`, ca: first.certificatePem };
  const guard = await GuardProcess.start({ kubeconfig: guarded.kubeconfig, directory, leash, tlsSecret });
  expect(await trusts(guard, first.certificatePem)).toBe('trusted');
  expect(await trusts(guard, second.certificatePem)).not.toBe('trusted');

  await admin.patch(`${SECRETS}/${NAME}`, { stringData: dataOf(second) });
  await expect.poll(async () => await trusts(guard, second.certificatePem), { timeout: 4_000 }).toBe('trusted');
  expect(await guard.stop()).toBe(0);
});
