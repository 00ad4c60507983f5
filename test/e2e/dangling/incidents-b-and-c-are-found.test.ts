import { afterAll, beforeAll, expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

/** Within which a reference that leads nowhere is found, and within which it is forgotten. */
const FOUND_MS = 5_000;
/** The names of the incident. */
const NEVER_HERE = 'rendered-master-553d5d527988f8cd22e7791f6013fe42';
const PRESENT = 'rendered-master-9e786f4a442cb50f3dfeec92abb1675f';
const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

interface Status {
  readonly mode: string;
  readonly protectedConfigs: number;
  readonly danglingCount: number;
  readonly danglingReferences: readonly Readonly<Record<string, string>>[];
  readonly lastDenial?: { readonly name: string; readonly user: string; readonly referrers: readonly object[] };
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly message: string }[];
}

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
  await statusThat(({ conditions }) => conditions.length === 3, 30_000);
}, 120_000);

afterAll(() => installed.stop());

async function statusThat(is: (status: Status) => boolean, timeoutMs = FOUND_MS): Promise<Status> {
  return until(
    'the status to say so',
    async () => {
      const status = (await installed.cluster.admin.find(PATHS.guard))?.status as Status | undefined;
      return status?.conditions !== undefined && is(status) && status;
    },
    { timeoutMs },
  );
}

function condition({ conditions }: Status, type: string) {
  return conditions.find((one) => one.type === type);
}

test('a cluster in order: ready, consistent, certificates valid', async () => {
  const status = await statusThat(({ danglingCount }) => danglingCount === 0);

  expect(status.mode).toBe('Enforce');
  expect(status.conditions.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
    'Ready=True',
    'ReferencesConsistent=True',
    'CertificatesValid=True',
  ]);
});

test('incident B: two masters name a config that was never here, and the pool serves nothing', async () => {
  const { cluster } = installed;
  await cluster.config({ name: PRESENT });
  await cluster.config({ name: WORKER });
  for (const name of ['control1.gw.lo', 'control2.gw.lo']) {
    await cluster.node({ name, role: 'master', currentConfig: NEVER_HERE, desiredConfig: NEVER_HERE });
  }
  await cluster.node({ name: 'worker0.gw.lo', currentConfig: WORKER, desiredConfig: WORKER });
  await cluster.pool({ name: 'master', spec: PRESENT });

  const status = await statusThat(({ danglingCount }) => danglingCount === 5);

  const found = status.danglingReferences.map(({ kind, name, field, config }) => `${kind} ${name} ${field} ${config}`);
  expect(found.toSorted()).toEqual([
    'MachineConfigPool master status ',
    `Node control1.gw.lo currentConfig ${NEVER_HERE}`,
    `Node control1.gw.lo desiredConfig ${NEVER_HERE}`,
    `Node control2.gw.lo currentConfig ${NEVER_HERE}`,
    `Node control2.gw.lo desiredConfig ${NEVER_HERE}`,
  ]);
  const node = status.danglingReferences.find(({ kind }) => kind === 'Node');
  expect(node?.['explanation']).toMatch(/^never seen in this cluster/);
  expect(condition(status, 'ReferencesConsistent')).toMatchObject({ status: 'False' });
});

test('it is seen where people look: the columns, the Events of the node', async () => {
  const table = await kubectlOk(installed.controlPlane, ['get', 'mcguard', 'cluster', '--no-headers']);
  expect(table.split(/\s+/).slice(0, 5)).toEqual(['cluster', 'Enforce', 'True', expect.stringMatching(/^\d+$/), '5']);
  const events = await until(
    'the Event',
    async () => {
      const text = await kubectlOk(installed.controlPlane, ['describe', 'node', 'control1.gw.lo']);
      return text.includes('DanglingReference') && text;
    },
    { timeoutMs: 10_000 },
  );
  expect(events).toContain(`names ${NEVER_HERE}, which does not exist`);
});

test('repaired, it is forgotten', async () => {
  const { cluster } = installed;
  for (const name of ['control1.gw.lo', 'control2.gw.lo']) {
    await cluster.moveNode(name, { currentConfig: PRESENT, desiredConfig: PRESENT });
  }
  await cluster.admin.patch(`${PATHS.pools}/master/status`, { status: { configuration: { name: PRESENT } } });

  const status = await statusThat(({ danglingCount }) => danglingCount === 0);

  expect(condition(status, 'ReferencesConsistent')).toMatchObject({ status: 'True' });
});

test('incident C: a typing error in an annotation, and the name that was meant', async () => {
  const typo = WORKER.replace('rendered-', 'render-');
  await installed.cluster.moveNode('worker0.gw.lo', { desiredConfig: typo });

  const status = await statusThat(({ danglingCount }) => danglingCount === 1);

  expect(status.danglingReferences[0]).toMatchObject({ name: 'worker0.gw.lo', config: typo, suggestion: WORKER });
  await installed.cluster.moveNode('worker0.gw.lo', { desiredConfig: WORKER });
  await statusThat(({ danglingCount }) => danglingCount === 0);
});

test('a config that was deleted while it was overridden: when', async () => {
  const { cluster } = installed;
  const config = await cluster.config({ annotations: { 'machineconfig-guard.io/allow-deletion': 'CHG-7' } });
  const node = await cluster.node({ currentConfig: config });
  await statusThat(({ protectedConfigs }) => protectedConfigs > 0);
  expect((await cluster.delete(config)).status).toBe(200);

  const status = await statusThat(({ danglingCount }) => danglingCount === 1);

  expect(status.danglingReferences[0]?.['explanation']).toMatch(/^deleted at \d{4}-/);
  await cluster.admin.delete(`${PATHS.nodes}/${node}`);
  await statusThat(({ danglingCount }) => danglingCount === 0);
});

test('the last denial: what, who, who used it', async () => {
  const { cluster } = installed;
  const config = await cluster.config();
  const node = await cluster.node({ currentConfig: config });
  expect((await cluster.delete(config)).status).toBe(403);

  const status = await statusThat(({ lastDenial }) => lastDenial?.name === config, 15_000);

  expect(status.lastDenial).toMatchObject({
    user: 'admin',
    referrers: [{ kind: 'Node', name: node, field: 'currentConfig' }],
  });
});

test('the replica that writes is ended: the other goes on', async () => {
  const { cluster, kubelet } = installed;
  const lease = await cluster.admin.find(
    '/apis/coordination.k8s.io/v1/namespaces/machineconfig-guard/leases/machineconfig-guard',
  );
  expect(lease?.spec).toMatchObject({ leaseDurationSeconds: 137 });
  await kubectlOk(installed.controlPlane, [
    'rollout',
    'restart',
    'deployment/machineconfig-guard',
    '--namespace=machineconfig-guard',
  ]);
  await kubelet.settled(60_000);

  const config = await cluster.config();
  const before = (await statusThat(() => true)).protectedConfigs;
  await cluster.node({ currentConfig: config });

  // Given back by the one that ended, it is free at once; the other looks every 26 seconds.
  await statusThat(({ protectedConfigs }) => protectedConfigs === before + 1, 40_000);
}, 120_000);
