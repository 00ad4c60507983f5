import { afterAll, expect, test } from 'vitest';
import { KubeClient, type KubeObject } from '../control-plane/kube-client.ts';
import type { AuditEvent } from '../support/audit-log.ts';
import { readAuthority, SERVICE_NAME } from '../support/guard-processes.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { runProgramOk } from '../support/programs.ts';
import { createServiceAccount } from '../support/service-account.ts';

const IMAGE = `registry.example.com/machineconfig-guard@sha256:${'a'.repeat(64)}`;
/** The guard's user name in the API server. */
const GUARD_USER = 'system:serviceaccount:machineconfig-guard:machineconfig-guard';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

interface Right {
  readonly verb: string;
  readonly group: string;
  /** With its subresource, such as `machineconfigguards/status`. */
  readonly resource: string;
  /** Undefined means all. */
  readonly namespace: string | undefined;
  readonly resourceNames: readonly string[] | undefined;
}

interface Binding extends KubeObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[];
}

// A rendered installation, because only that one has the Secret of the authority.
const installed = await InstalledCluster.start(['openshift-config']);
const { cluster, controlPlane, replicas } = installed;
const { admin } = cluster;
await installRendered();
const rights = await readRights();
expect(rights.length).toBeGreaterThan(10);
await useEveryPart();
// The API server records a watch when it ends.
await replicas.stop();
const requests = await cluster.auditEvents(({ user }) => user.username === GUARD_USER);

afterAll(() => installed.stop());

test.each(rights)('the guard uses its right to $verb $resource', (right) => {
  expect(requests.some((request) => isUse(request, right))).toBe(true);
});

test('the API server refuses no request of the guard', () => {
  expect(requests.filter(({ responseStatus }) => [401, 403].includes(responseStatus?.code ?? 0))).toEqual([]);
});

async function installRendered(): Promise<void> {
  const manifests = await runProgramOk('render', '--out', '-', '--image', IMAGE, '--openshift-version', '4.18');
  await kubectlOk(controlPlane, ['apply', '--filename=-'], manifests);
  await installed.awaitGuard();
}

/** The rights of every role that a binding gives to the guard. */
async function readRights(): Promise<readonly Right[]> {
  const kinds = ['clusterrolebindings', 'rolebindings'];
  const bindings = (await Promise.all(kinds.map((kind) => admin.list(`${RBAC}/${kind}`)))).flat() as Binding[];
  const ofGuard = bindings.filter(({ subjects = [] }) =>
    subjects.some(({ kind, name }) => kind === 'ServiceAccount' && name === 'machineconfig-guard'),
  );
  const granted = ofGuard.map(async ({ metadata: { namespace }, roleRef: { kind, name } }) => {
    const scope = kind === 'ClusterRole' ? '' : `/namespaces/${namespace}`;
    const role = await admin.find(`${RBAC}${scope}/${kind.toLowerCase()}s/${name}`);
    return (role?.rules ?? []).flatMap(({ apiGroups = [], resources = [], verbs, resourceNames }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource, namespace, resourceNames }))),
      ),
    );
  });
  return (await Promise.all(granted)).flat();
}

function isUse({ verb, objectRef }: AuditEvent, right: Right): boolean {
  if (objectRef === undefined) return false;
  const { apiGroup = '', resource, subresource, namespace, name = '' } = objectRef;
  return (
    verb === right.verb &&
    apiGroup === right.group &&
    (subresource === undefined ? resource : `${resource}/${subresource}`) === right.resource &&
    (right.namespace === undefined || namespace === right.namespace) &&
    (right.resourceNames === undefined || right.resourceNames.includes(name))
  );
}

/** Makes the guard do everything that it can do. */
async function useEveryPart(): Promise<void> {
  const [byNode, byPool, byBuild] = [await cluster.config(), await cluster.config(), await cluster.config()];
  await cluster.node({ currentConfig: byNode });
  await cluster.pool({ spec: byPool });
  await cluster.build(byBuild, 'Building');
  // Only such a denial confirms the reference with a GET.
  for (const config of [byNode, byPool, byBuild]) await installed.awaitDenialFromIndex(config);
  expect((await cluster.delete(await cluster.config())).status).toBe(200);
  const node = await cluster.node({ currentConfig: 'rendered-worker-missing' });
  await cluster.awaitStatus(({ danglingReferences }) => danglingReferences.some(({ name }) => name === node));
  await scrapeMetrics();
}

async function scrapeMetrics(): Promise<void> {
  const token = await createServiceAccount(admin, 'scraper', [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]);
  const ca = await readAuthority(admin);
  const url = replicas.running[0]?.metricsUrl ?? '';
  const scraper = new KubeClient({ url, ca, token, servername: SERVICE_NAME });
  expect((await scraper.request('GET', '/metrics')).status).toBe(200);
}
