import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';

import { ExecServer } from '../../support/exec-server.ts';
import { setKubeletPort } from '../restore/machines.ts';
import { PATHS } from '../support/paths.ts';
import { PROGRAM } from '../support/program.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';
import { Shell } from '../support/shell.ts';

const GATHER = join(import.meta.dirname, '../../../build/must-gather/gather');
const POD = 'machineconfig-guard-0';
const LOGS = `namespaces/machineconfig-guard/pods/${POD}/guard/guard/logs`;

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const shell = await Shell.open(controlPlane);

await installed.clear();
const config = await cluster.config();
const node = await cluster.node({ currentConfig: config, desiredConfig: config });
const { token = '' } = await installed.connectAsGuard();
// The kubelet of the tests creates no Pod, and the API server gets logs from a kubelet.
const kubelet = await ExecServer.start(() => ({}));
const logRequests = kubelet.serveLogs(`first line\nAuthorization: Bearer ${token}\n`);
await setKubeletPort(cluster, node, kubelet.port);
const deployment = (await admin.find(PATHS.deployment)) as unknown as {
  readonly spec: { readonly template: { readonly spec: object } };
};
await admin.create(`${PATHS.guardNamespace}/pods`, {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: POD },
  spec: { ...deployment.spec.template.spec, nodeName: node },
});
await admin.patch(`${PATHS.guardNamespace}/pods/${POD}/status`, {
  status: { containerStatuses: [{ name: 'guard', restartCount: 1, image: '', imageID: '', ready: true }] },
});

afterAll(async () => {
  kubelet.stop();
  await admin.delete(`${PATHS.guardNamespace}/pods/${POD}`, { gracePeriodSeconds: '0' });
  await installed.clear();
});

/** The gathered files and their texts. */
async function readFiles(directory: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const texts = files.map(async (file) => [relative(directory, file), await readFile(file, 'utf8')] as const);
  return new Map(await Promise.all(texts));
}

await cluster.expectDenied(config, [
  { kind: 'Node', name: node, field: 'currentConfig' },
  { kind: 'Node', name: node, field: 'desiredConfig' },
]);
await cluster.awaitEvent(config);
// The program of the image.
const directory = join(shell.home, 'must-gather');
const script = (await readFile(GATHER, 'utf8'))
  .replace('/usr/local/bin/machineconfig-guard', PROGRAM)
  .replace('/must-gather', directory);
const scriptFile = join(shell.home, 'gather.sh');
await writeFile(scriptFile, script);
const { exitCode, stderr } = await shell.run(`MUST_GATHER_SINCE=2h0m0s sh ${scriptFile}`);
const files = await readFiles(directory);

test('gathers the installed guard completely', () => {
  expect([exitCode, stderr]).toEqual([0, '']);
  const admission = 'cluster-scoped-resources/admissionregistration.k8s.io';
  const namespaced = 'namespaces/machineconfig-guard';
  expect([...files.keys()].toSorted()).toEqual([
    'check.json',
    `${admission}/validatingadmissionpolicies.yaml`,
    `${admission}/validatingadmissionpolicybindings.yaml`,
    `${admission}/validatingwebhookconfigurations.yaml`,
    'cluster-scoped-resources/machineconfig-guard.io/machineconfigguards.yaml',
    'namespaces/default/events.k8s.io/events.yaml',
    `${namespaced}/apps/deployments.yaml`,
    `${namespaced}/apps/replicasets.yaml`,
    `${namespaced}/coordination.k8s.io/leases.yaml`,
    `${namespaced}/core/pods.yaml`,
    `${namespaced}/core/services.yaml`,
    `${namespaced}/discovery.k8s.io/endpointslices.yaml`,
    `${namespaced}/events.k8s.io/events.yaml`,
    `${LOGS}/current.log`,
    `${LOGS}/previous.log`,
    'version',
  ]);
  const guards = parse(files.get('cluster-scoped-resources/machineconfig-guard.io/machineconfigguards.yaml') ?? '');
  expect(guards).toMatchObject({ kind: 'MachineConfigGuardList', items: [{ status: { mode: 'Enforce' } }] });
  const webhooks = parse(files.get(`${admission}/validatingwebhookconfigurations.yaml`) ?? '');
  expect(webhooks).toMatchObject({ items: [{ metadata: { name: 'machineconfig-guard' } }] });
  expect(files.get('namespaces/default/events.k8s.io/events.yaml')).toContain(config);
  expect(files.get(`${namespaced}/coordination.k8s.io/leases.yaml`)).toContain('holderIdentity: ');
  expect(JSON.parse(files.get('check.json') ?? '')).toMatchObject({ ok: true, nodes: [{ name: node }] });
  expect(files.get(`${LOGS}/current.log`)).toContain('first line\n');
  // They are sent side by side.
  const queries = logRequests.map((path) => new URL(path, 'https://kubelet').searchParams);
  const times = queries.map((query) => [query.get('sinceSeconds'), query.get('previous')]);
  expect(new Set(times.map(String))).toEqual(new Set(['7200,', '7200,true']));
});

test('gathers no Secret and no bearer token', async () => {
  const text = [...files.values()].join('\n');
  const secrets = await admin.list(`${PATHS.guardNamespace}/secrets`);
  const values = secrets.flatMap(({ data = {} }) => Object.values(data));
  const privateValues = values.filter((value) => !isCertificate(value));
  expect(privateValues.map(decode)).toContainEqual(expect.stringContaining('PRIVATE KEY'));
  for (const value of [...privateValues, ...privateValues.map(decode), token]) expect(text).not.toContain(value);
  expect(text).toContain('Authorization: Bearer <redacted>\n');
  expect(text).not.toMatch(/kind: (?:Secret|ConfigMap)$/m);
});

function decode(value: string): string {
  return Buffer.from(value, 'base64').toString();
}

/** The webhook configuration contains the public certificate of the authority, too. */
function isCertificate(value: string): boolean {
  return /^-----BEGIN CERTIFICATE-----|^machineconfig-guard$/.test(decode(value));
}
