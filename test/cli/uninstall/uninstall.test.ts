import { beforeEach, expect, test } from 'vitest';
import type { UninstallReport } from '../../../src/cli/uninstall/uninstall.ts';
import { createConfig, createNode, type InspectedCluster, NEW, startEmptyCluster } from '../inspected-cluster.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const LABELS = { 'app.kubernetes.io/name': 'machineconfig-guard' };
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const POLICY = `${ADMISSION}/validatingadmissionpolicies/pools.machineconfig-guard.io`;
const NAMESPACE = '/api/v1/namespaces/machineconfig-guard';
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machineconfigguards.machineconfig-guard.io';
const UNLABELED = [
  `${RBAC}/clusterroles/machineconfig-guard`,
  `${RBAC}/namespaces/default/roles/machineconfig-guard-events`,
];
const IN_ORDER = [POLICY, ...UNLABELED.toReversed(), NAMESPACE, CRD];

let inspected: InspectedCluster;
/** The objects of the cluster, with their labels. */
let objects: Map<string, object>;
/** The paths of the deletions, in their order. */
let deletions: string[];

beforeEach(async () => {
  inspected = await startEmptyCluster();
  const { cluster } = inspected;
  createConfig(cluster, NEW);
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  objects = new Map([CRD, NAMESPACE, POLICY].map((path) => [path, LABELS]));
  for (const path of UNLABELED) objects.set(path, {});
  objects.set(`${ADMISSION}/validatingwebhookconfigurations/other`, {});
  deletions = [];
  cluster.faults.intercept(({ method, path }) => {
    if (/machineconfiguration|nodes/.test(path)) return 'pass';
    if (method === 'DELETE') {
      deletions.push(path);
      objects.delete(path);
      return { status: 200, body: {} };
    }
    const names = [...objects].filter(([object]) => object.slice(0, object.lastIndexOf('/')) === path);
    const items = names.map(([object, labels]) => {
      return { metadata: { name: object.slice(object.lastIndexOf('/') + 1), uid: object, labels } };
    });
    return items.length === 0 && path.startsWith(ADMISSION) ? 'pass' : { status: 200, body: { items } };
  });
});

async function uninstall(...flags: string[]) {
  const { exitCode, stdout } = await inspected.run('uninstall', '-o', 'json', ...flags);
  return { exitCode, report: JSON.parse(stdout) as UninstallReport };
}

test('lists the labeled objects, and those that 0.1.0 did not label', async () => {
  const { exitCode, report } = await uninstall();
  expect(exitCode).toBe(0);
  expect(report).toMatchObject({ confirmed: false, tried: null, remaining: [] });
  expect(report.objects.map(({ uid }) => uid)).toEqual(IN_ORDER);
  expect(deletions).toEqual([]);
});

test('with --confirm, deletes policies first, and tries a deletion', async () => {
  const { exitCode, report } = await uninstall('--confirm');
  expect([exitCode, deletions]).toEqual([0, IN_ORDER]);
  const tried = { config: NEW, answer: { status: 200, message: '' } };
  expect(report).toMatchObject({ confirmed: true, tried, remaining: [], advice: null });
});
