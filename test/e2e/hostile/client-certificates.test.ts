import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type ConnectionOptions } from 'node:tls';

import { afterAll, expect, test } from 'vitest';

import { createAuthority } from '../../../src/certificates/authority.ts';
import { reviewBody } from '../../support/review.ts';
import type { ApiServer } from '../control-plane/control-plane.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import type { GuardPod } from '../node/guard-pods.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { awaitGuardCalls, unique } from '../support/cluster.ts';
import { DocumentedPage, documentedYaml, PAGES } from '../support/documented-page.ts';
import { readAuthority, SERVICE_NAME } from '../support/guard-service.ts';
import { machineConfig } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { createServiceAccount } from '../support/service-account.ts';
import { Shell } from '../support/shell.ts';

const CLIENT_CA = `${PATHS.guardNamespace}/configmaps/machineconfig-guard-client-ca`;
const [WEBHOOK_PORT, METRICS_PORT, HEALTH_PORT] = [9443, 8443, 8081];
const [file] = PAGES.clientCertificates;
const page = new DocumentedPage(file);
const [admission, users, patch] = documentedYaml(file);

const installed = await sharedNodeCluster();
const { cluster, controlPlane, replicas: pods } = installed;
await installed.applyOverlay('service-ca');
await installed.awaitGuard();
const shell = await Shell.open(controlPlane);
const used = await cluster.config();
const node = await cluster.node({ currentConfig: used });

let secondApiServer: ApiServer | undefined;

afterAll(async () => {
  await secondApiServer?.stop();
  await controlPlane.apiServer.restart([]);
});

async function writeFileOfPage(name: string, yaml = ''): Promise<string> {
  const path = join(shell.home, name);
  await writeFile(path, yaml.replaceAll('/etc/kubernetes/webhook-client', shell.home));
  return path;
}

/** Sends an HTTP request and returns the status of the answer if there is one. */
async function send(
  address: { readonly host: string; readonly port: number },
  request: readonly string[],
  options: ConnectionOptions = {},
): Promise<string | undefined> {
  const ca = await readAuthority(cluster.admin);
  const server = { ...address, servername: SERVICE_NAME, ca };
  const socket = connect({ ...server, ...options }).on('error', () => undefined);
  socket.write(request.join('\r\n'));
  const answer = await text(socket).catch(() => '');
  return /^HTTP\/1\.1 (?<status>\d+)/.exec(answer)?.groups?.['status'];
}

/** Sends a review of the config in use to a pod. */
function sendReview(pod: GuardPod, options: ConnectionOptions = {}): Promise<string | undefined> {
  const oldObject = machineConfig({ name: used });
  const body = JSON.stringify(reviewBody({ name: used, oldObject, dryRun: true }));
  const length = Buffer.byteLength(body);
  const headers = ['Host: guard', 'Content-Type: application/json', `Content-Length: ${length}`];
  const request = ['POST /validate HTTP/1.1', ...headers, 'Connection: close', '', body];
  return send(addressOf(pod, WEBHOOK_PORT), request, options);
}

function addressOf({ status }: GuardPod, port: number) {
  return { host: status.podIP ?? '', port };
}

async function sendToFirst(): Promise<string | undefined> {
  const [pod] = await pods.list();
  if (pod === undefined) throw new Error('The guard has no pod.');
  return sendReview(pod);
}

async function readClientCertificate() {
  const read = (name: string) => readFile(join(shell.home, name), 'utf8');
  return { cert: await read('client.crt'), key: await read('client.key') };
}

test('the denial arrives from an API server with the client certificate', async () => {
  await page.run(shell, { heading: 'Create the certificates' });
  const configuration = await writeFileOfPage('admission.yaml', admission);
  await writeFileOfPage('kubeconfig.yaml', users);
  await controlPlane.apiServer.restart([`--admission-control-config-file=${configuration}`]);
  await awaitGuardCalls(cluster.admin);

  await writeFileOfPage('client-ca.yaml', patch);
  const heading = 'Require the certificate';
  await page.run(shell, { heading, isWanted: (line) => line.startsWith('oc ') });
  await pods.awaitRollout();
  await awaitGuardCalls(cluster.admin);

  const [{ stdout }] = await page.run(shell, { heading, isWanted: (line) => !line.startsWith('oc ') });
  expect(stdout).toMatch(/^PROTECTED: /m);
  await cluster.expectDenied(used, [{ kind: 'Node', name: node, field: 'currentConfig' }]);
  await cluster.expectAllowed(await cluster.config());
}, 180_000);

test('an API server without the client certificate cannot call the guard', async () => {
  secondApiServer = await controlPlane.startApiServer();

  const { admin } = secondApiServer;
  const deleteUsed = async () => {
    const response = await admin.delete(`${PATHS.configs}/${used}`);
    expect(response.status).toBe(500);
    return statusOf(response).message;
  };
  // The connection may end before the alert is read.
  const message = /failed calling webhook .* remote error: tls: certificate required$/;
  await expect.poll(deleteUsed).toMatch(message);
  expect(await cluster.exists(used)).toBe(true);
}, 120_000);

test('a client gets an answer only with the client certificate', async () => {
  for (const pod of await pods.list()) {
    expect(await sendReview(pod)).toBeUndefined();
    expect(await sendReview(pod, await readClientCertificate())).toBe('200');
  }
});

test('probes and metrics need no client certificate', async () => {
  const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
  const token = await createServiceAccount(cluster.admin, unique('scraper'), rules);
  for (const pod of await pods.list()) {
    const { host } = addressOf(pod, HEALTH_PORT);
    expect((await fetch(`http://${host}:${HEALTH_PORT}/healthz`)).status).toBe(200);
    expect((await fetch(`http://${host}:${HEALTH_PORT}/readyz`)).status).toBe(200);
    const headers = ['Host: guard', `Authorization: Bearer ${token}`, 'Connection: close'];
    const scrape = ['GET /metrics HTTP/1.1', ...headers, '', ''];
    expect(await send({ host, port: METRICS_PORT }, scrape)).toBe('200');
  }
});

test('the guard follows the ConfigMap of the authority', async () => {
  const { certificatePem } = await createAuthority({ days: 1, now: new Date() });
  const client = await readClientCertificate();
  const sendToAll = async () => Promise.all((await pods.list()).map((pod) => sendReview(pod, client)));
  const { data } = (await cluster.admin.find(CLIENT_CA)) as unknown as { data: { 'ca.crt': string } };

  await cluster.admin.patch(CLIENT_CA, { data: { 'ca.crt': certificatePem } });
  await expect.poll(sendToAll).toEqual([undefined, undefined]);
  await cluster.admin.patch(CLIENT_CA, { data });
  await expect.poll(sendToAll).toEqual(['200', '200']);
});

test('another apply keeps the patch, and a variable less undoes it', async () => {
  await installed.applyOverlay('service-ca');
  await pods.awaitRollout();
  expect(await sendToFirst()).toBeUndefined();

  await page.run(shell, { heading: 'Undo it' });
  await pods.awaitRollout();
  expect(await sendToFirst()).toBe('200');
  expect(page.remaining).toEqual([]);
}, 120_000);
