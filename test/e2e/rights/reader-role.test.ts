import { afterAll, expect, test } from 'vitest';
import { ClusterAccessError, readObject } from '../../../src/client/cluster-access.ts';
import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import { readObstacles } from '../../../src/cli/check/read-obstacles.ts';
import { inspectedNode } from '../../diagnosis/checked-cluster.ts';
import { readReferencesReport } from '../../../src/cli/who-uses/references-report.ts';
import { verifyProtection } from '../../../src/cli/protection/verify.ts';
import { NEVER_ABORTED } from '../../../src/common/wait.ts';
import type { KubeApi } from '../../../src/kube/api.ts';
import type { Rule } from '../control-plane/kube-client.ts';
import { BINDINGS } from '../support/floor.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { overlay } from '../support/overlays.ts';
import { PATHS } from '../support/objects.ts';
import { connectWith, withoutEachRight } from '../support/service-account.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { GUARDS_PATH } from '../../../src/api/paths.ts';
import { toConfigName } from '../../../src/mco/machine-config.ts';

const REQUESTS_PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const CLUSTER_ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const READER = await readRules('machineconfig-guard-reader');
await kubectlOk(controlPlane, ['apply', '--kustomize', overlay('verify-role')]);
const VERIFY = await readRules('machineconfig-guard-verify');

await installed.clear();
const used = await cluster.config();
await cluster.config();
await cluster.node({ currentConfig: used, desiredConfig: used });

afterAll(() => installed.clear());

async function readRules(role: string): Promise<readonly Rule[]> {
  return (await admin.find(`${CLUSTER_ROLES}/${role}`))?.rules ?? [];
}

/** The first right that each command misses. */
async function findMissingRights(api: KubeApi): Promise<readonly string[]> {
  const commands = [
    () => check(api),
    () => readObstaclesOfDrain(api),
    () => readReferencesReport(api, [toConfigName(used)]),
    () => verifyProtection(api, NEVER_ABORTED),
    // As check bootstrap.
    () => readObject(api, `${PATHS.configs}/${used}`),
    // As `oc get mcguard`.
    () => readObject(api, GUARDS_PATH, 'list'),
    // For status, and for the advice of verify.
    () => readObject(api, PATHS.webhookConfigurations, 'list'),
    () => readObject(api, `${BINDINGS}/nodes.machineconfig-guard.io`),
    () => readObject(api, PATHS.deployment),
    () => readObject(api, PATHS.lease),
  ];
  const missing = await Promise.all(commands.map(findMissingRight));
  return missing.filter((right) => right !== undefined);
}

async function findMissingRight(run: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (!(error instanceof ClusterAccessError)) throw error;
    return `${error.access.verb} ${error.access.resource}`;
  }
}

/** The command prints what it cannot read, and goes on. */
async function check(api: KubeApi): Promise<void> {
  const { pendingCertificateRequests, unreadable } = (await checkCluster(api)).report;
  const { readable, reason } = pendingCertificateRequests;
  if (!readable) throw new ClusterAccessError('list', REQUESTS_PATH, reason);
  throwUnreadable(unreadable);
}

/** What the command reads if nodes do not move. The role excludes pods, whose specs can contain secrets. */
async function readObstaclesOfDrain(api: KubeApi): Promise<void> {
  const node = inspectedNode('worker-0', { current: used, desired: 'rendered-worker-b', drainingForMinutes: 60 });
  const { unreadable } = await readObstacles(api, { nodes: [node], pools: [] }, new Date(), NEVER_ABORTED);
  throwUnreadable(unreadable.filter((resource) => resource !== 'pods'));
}

const READ_BY_NAME = new Set(['clusteroperators', 'deployments', 'leases']);

function throwUnreadable(resources: readonly string[]): void {
  for (const resource of resources) {
    const verb = READ_BY_NAME.has(resource) ? 'get' : 'list';
    throw new ClusterAccessError(verb, `/apis/group/v1/${resource}`, undefined);
  }
}

test('only the dry run of verify needs the second role', async () => {
  const reader = await connectWith(controlPlane, READER);
  // RBAC takes a moment to see a new binding.
  await expect.poll(() => findMissingRights(reader)).toEqual(['delete machineconfigs']);
  const api = await connectWith(controlPlane, [...READER, ...VERIFY]);
  await expect.poll(() => findMissingRights(api)).toEqual([]);
  const { state, floor, webhooks } = await verifyProtection(api, NEVER_ABORTED);
  expect({ state, floor, webhooks: webhooks?.length }).toEqual({ state: 'PROTECTED', floor: [], webhooks: 1 });
});

test('every right of the two roles is needed by a command', async () => {
  const rights = withoutEachRight([...READER, ...VERIFY]);
  expect(rights.length).toBeGreaterThan(12);
  const checks = rights.map(async ({ verb, resource, rest }) => {
    const api = await connectWith(controlPlane, rest);
    const findMissing = async () => [...new Set(await findMissingRights(api))];
    await expect.poll(findMissing).toEqual([`${verb} ${resource}`]);
  });
  await Promise.all(checks);
});
