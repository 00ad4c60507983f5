import { expect, test, vi } from 'vitest';
import { InMemoryCluster } from '../../support/in-memory-cluster/in-memory-cluster.ts';
import { CliError } from '../../../src/client/exit.ts';
import { throwUnlessOk } from '../../../src/cli/steps/step-run.ts';
import { uninstall } from '../../../src/cli/uninstall/uninstall-run.ts';
import type { ApiRequest } from '../../../src/kube/api.ts';
import { ApiError } from '../../../src/kube/errors.ts';
import { startEmptyCluster } from '../inspected-cluster.ts';
import { skipWaits, StoppingApi } from '../steps/stopping-api.ts';
import { createGuardedCluster, IN_USE, INSTALLED, LABELS, listInstalled } from './guarded-cluster.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../../src/api/annotations.ts';
import { INSTALLED_NAME } from '../../../src/api/paths.ts';
import { MACHINE_CONFIGS_PATH } from '../../../src/mco/api-paths.ts';

/** A client whose API server answers some requests otherwise. */
class OtherApi extends StoppingApi {
  readonly #answer: (request: ApiRequest) => unknown;

  constructor(cluster: InMemoryCluster, answer: (request: ApiRequest) => unknown) {
    super(cluster);
    this.#answer = answer;
  }

  override async json(request: ApiRequest): Promise<unknown> {
    const answer = this.#answer(request);
    if (answer === undefined) return await super.json(request);
    this.requests.push(request);
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

async function run(cluster: InMemoryCluster, answer: (request: ApiRequest) => unknown = () => undefined) {
  skipWaits();
  const api = new OtherApi(cluster, answer);
  const texts: string[] = [];
  const { report, failure } = await uninstall(api.client, {
    isConfirmed: true,
    onProgress: (text) => texts.push(text),
  });
  const exitCode = failure instanceof CliError ? failure.exitCode : Number(failure !== undefined);
  const outcome = { ok: report.ok, exitCode, problem: report.problem };
  return { report, outcome, failure, texts, api, writes: api.listWrites() };
}

const isDeletion = ({ method }: ApiRequest): boolean => method === 'DELETE';
const DENIAL = new ApiError(403, 'Forbidden', 'admission webhook "other.example.com" denied the request: no');
const NOT_SERVED = new ApiError(404, '', 'page not found');
const COMPLETE = { ok: true, exitCode: 0, problem: null };

test('deletes what denies first, by uid, and proves by a dry run on a config in use that nothing denies', async () => {
  const cluster = createGuardedCluster();
  const getObject = ([resource, , namespace]: (typeof INSTALLED)[number]) =>
    cluster.require(resource, INSTALLED_NAME, namespace);
  const uids = INSTALLED.map((row) => getObject(row).metadata.uid);
  const { report, outcome, texts, api, writes } = await run(cluster);
  expect(outcome).toEqual(COMPLETE);
  expect([report.remaining, listInstalled(cluster)]).toEqual([[], []]);
  expect(writes.map(({ path }) => path.split('/').at(-2))).toEqual(INSTALLED.map(([resource]) => resource));
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' };
  expect(writes.map(({ body }) => body)).toEqual(uids.map((uid) => ({ ...options, preconditions: { uid } })));
  expect(report.dryRun).toEqual({ config: IN_USE, answer: { status: 200, message: '' } });
  expect(report.steps.map(({ action }) => action)).toEqual([...INSTALLED.map(() => 'DeleteObject'), 'DryRunDeletion']);
  // Only the metadata of its own objects is read.
  const selector = Object.entries(LABELS).map((label) => label.join('='));
  const { path: listed, accept } = api.requests[0] as ApiRequest;
  expect([decodeURIComponent(listed).split('?')[1], accept]).toEqual([
    `labelSelector=${selector.join(',')}`,
    expect.stringMatching(/^application\/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,/),
  ]);
  expect(texts.at(-1)).toMatch(/^check that nothing denies .*: done$/);

  // Every deletion of a config is a dry run, in the body and in the query, after one with an invalid value.
  const ofConfigs = api.requests.filter(
    (request) => isDeletion(request) && request.path.startsWith(MACHINE_CONFIGS_PATH),
  );
  const [path, invalid] = [
    `${MACHINE_CONFIGS_PATH}/${IN_USE}?dryRun=All`,
    `${MACHINE_CONFIGS_PATH}/machineconfig-guard-dry-run?dryRun=Invalid`,
  ];
  expect(ofConfigs.map((request) => request.path)).toEqual([invalid, path, invalid, path]);
  const values = ofConfigs.map(({ body }) => (body as { dryRun: unknown }).dryRun);
  expect(values).toEqual([['Invalid'], ['All'], ['Invalid'], ['All']]);
  // Before the first write, each deletion was a dry run, and before these one with an invalid value.
  const before = api.requests.slice(0, api.requests.indexOf(writes[0] as ApiRequest)).filter(isDeletion);
  const dryRuns = before
    .filter((request) => !request.path.startsWith(MACHINE_CONFIGS_PATH))
    .map((request) => request.path);
  expect(dryRuns).toEqual([
    expect.stringMatching(/\/machineconfig-guard-dry-run\?dryRun=Invalid$/),
    ...writes.map((write) => `${write.path}?dryRun=All`),
  ]);
});

test('says what it would delete, has deleted and has not deleted, and what comes next', async () => {
  const { cluster, transcribe } = await startEmptyCluster();
  createGuardedCluster(cluster);
  let forbidden = /namespaces.machineconfig-guard/;
  cluster.faults.intercept(({ method, path, query }) =>
    method === 'DELETE' && forbidden.test(`${path}?${query.toString()}`) ? { status: 403 } : 'pass',
  );
  await transcribe('a list', 'uninstall');
  const tracked = { metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'guard:x' } } };
  for (const resource of ['validatingwebhookconfigurations', 'clusterroles', 'namespaces'])
    cluster.patch(resource, INSTALLED_NAME, tracked);
  await transcribe('a list of what Argo CD applies', 'uninstall');
  const untracked = { metadata: { annotations: null } };
  for (const resource of ['validatingwebhookconfigurations', 'clusterroles', 'namespaces'])
    cluster.patch(resource, INSTALLED_NAME, untracked);
  await transcribe('without a right', 'uninstall', '--confirm');
  forbidden = /clusterroles.machineconfig-guard.$/;
  await transcribe('an end in the middle', 'uninstall', '--confirm');
  forbidden = /^$/;
  await transcribe('the whole work', 'uninstall', '--confirm');
  await transcribe('again', 'uninstall', '--confirm');
  await transcribe('another list', 'uninstall');
  cluster.list('machineconfigs').forEach(({ metadata }) => cluster.erase('machineconfigs', metadata.name));
  await transcribe('without a rendered MachineConfig', 'uninstall', '--confirm');
  const removeDenial = cluster.faults.intercept(() => ({ status: 403 }));
  await transcribe('no right at all', 'uninstall');
  removeDenial();
  cluster.faults.intercept(() => {
    process.emit('SIGINT');
    return 'hang';
  });
  await expect(await transcribe('Ctrl-C', 'uninstall')).toMatchFileSnapshot('uninstall.txt');
});

test.each([
  ['  ', 'machineconfig-guard uninstall'],
  ['CHG-4711', 'CHG-4711'],
])('with the policy that asks for reasons, and the reason %j, gives %j first', async (given, reason) => {
  const cluster = createGuardedCluster();
  const policy = 'webhook-deletion.machineconfig-guard.io';
  cluster.create('validatingadmissionpolicybindings', { metadata: { name: policy, labels: LABELS } });
  const annotations = { [ALLOW_DELETION_ANNOTATION]: given };
  cluster.patch('validatingwebhookconfigurations', INSTALLED_NAME, { metadata: { annotations } });
  const erased = vi.spyOn(cluster, 'erase').mockImplementation((resource, name, namespace) => {
    if (resource === 'validatingwebhookconfigurations') {
      expect(cluster.require(resource, name, namespace ?? '').metadata.annotations).toEqual({
        [ALLOW_DELETION_ANNOTATION]: reason,
      });
    }
    InMemoryCluster.prototype.erase.call(cluster, resource, name, namespace);
  });
  const { report, outcome } = await run(cluster);
  expect(outcome).toEqual(COMPLETE);
  expect(erased).toHaveBeenCalledWith('validatingwebhookconfigurations', INSTALLED_NAME, expect.anything());
  expect(report.steps[0]).toEqual({
    action: 'GiveReason',
    description: `give a reason for the deletion of ValidatingWebhookConfiguration ${INSTALLED_NAME}`,
    state: given === '  ' ? 'done' : 'unnecessary',
  });
});

test.each(Object.keys(LABELS))('keeps a namespace without the label %s', async (label) => {
  const cluster = createGuardedCluster();
  const { [label]: _missing, ...labels } = LABELS;
  cluster.create('namespaces', { metadata: { name: 'other', labels } });
  cluster.create('namespaces', { metadata: { name: 'another', labels: { ...LABELS, [label]: 'other' } } });
  expect((await run(cluster)).outcome).toEqual(COMPLETE);
  expect(cluster.list('namespaces').map(({ metadata }) => metadata.name)).toEqual(['another', 'other']);
});

test('keeps an object that loses its labels after the list, and deletes one that was created again', async () => {
  const cluster = createGuardedCluster();
  const { report, outcome, texts, writes } = await run(cluster, ({ method = 'GET', path }) => {
    if (path.includes('dryRun')) return undefined;
    if (method === 'DELETE' && path.includes('webhookconfigurations')) {
      cluster.patch('clusterroles', INSTALLED_NAME, { metadata: { labels: { 'app.kubernetes.io/part-of': null } } });
      cluster.patch('namespaces', INSTALLED_NAME, { metadata: { uid: 'created-again' } });
    }
    return undefined;
  });
  expect(outcome).toEqual(COMPLETE);
  expect(cluster.get('clusterroles', INSTALLED_NAME)).toBeDefined();
  expect(texts).toContain(`delete ClusterRole ${INSTALLED_NAME}: no longer necessary`);
  expect(report.steps.find(({ state }) => state === 'unnecessary')?.description).toBe(
    `delete ClusterRole ${INSTALLED_NAME}`,
  );
  expect(writes.find(({ path }) => path.includes('/namespaces/machineconfig-guard'))?.body).toMatchObject({
    preconditions: { uid: 'created-again' },
  });
});

/** Answers its deletion as if the object had a finalizer. */
function keep(resource: string, namespace = '') {
  return ({ method, path }: ApiRequest, cluster: InMemoryCluster) => {
    if (method !== 'DELETE' || !path.endsWith(`/${resource}/${INSTALLED_NAME}`)) return undefined;
    cluster.patch(resource, INSTALLED_NAME, { metadata: { deletionTimestamp: 'now' } }, namespace);
    return {};
  };
}

const KINDS = INSTALLED.map(([, kind]) => kind);
const ALL = KINDS.map((kind) => new RegExp(`^${kind} `));
const FINALIZERS = 'if it stays, see in its status and finalizers what keeps it';
const WHAT_CAN_DENY = 'validatingwebhookconfigurations,validatingadmissionpolicybindings';

const failed = (exitCode: number, written: boolean, advice?: string) => {
  return { ok: false, exitCode, written, ...(advice !== undefined && { advice }) };
};

/** What happens, what the command answers, and the kinds that exist in the end. */
test.each<[string, (request: ApiRequest, cluster: InMemoryCluster) => unknown, object, RegExp, readonly RegExp[]]>([
  [
    'the dry runs are not honored',
    ({ path }) => (path.includes('Invalid') ? { kind: 'Status' } : undefined),
    failed(3, false, 'continue: machineconfig-guard uninstall --confirm'),
    /does not honor dry runs: it answered a success instead of 422$/,
    ALL,
  ],
  [
    'the dry runs of configs are not honored',
    ({ path }) =>
      path.startsWith(MACHINE_CONFIGS_PATH) && path.includes('Invalid')
        ? new ApiError(404, 'NotFound', 'x')
        : undefined,
    failed(3, false),
    /does not honor dry runs: it answered 404 x instead of 422$/,
    ALL,
  ],
  [
    'a policy denies a deletion',
    ({ method, path }) =>
      method === 'DELETE' && path.includes('/namespaces/machineconfig-guard') ? DENIAL : undefined,
    failed(1, false, 'change what the policy or webhook asks for, and run the same command again: '),
    /^the API server denies to delete Namespace machineconfig-guard: admission webhook "other.example.com" denied/,
    ALL,
  ],
  [
    'the webhook configuration has a finalizer',
    keep('validatingwebhookconfigurations'),
    failed(1, true, `${FINALIZERS}: oc get validatingwebhookconfiguration ${INSTALLED_NAME} -o yaml`),
    /^timed out waiting for ValidatingWebhookConfiguration machineconfig-guard to be removed$/,
    ALL,
  ],
  [
    'the namespace has a finalizer',
    keep('namespaces'),
    failed(1, true),
    /^timed out waiting for Namespace machineconfig-guard to be removed$/,
    [/^Namespace /],
  ],
  [
    'the ConfigMap has a finalizer',
    keep('configmaps', 'openshift-config-managed'),
    {
      advice: `${FINALIZERS}: oc get configmap ${INSTALLED_NAME} -n openshift-config-managed -o yaml`,
      elapsedMs: 120_000,
    },
    /^timed out waiting for ConfigMap machineconfig-guard in namespace openshift-config-managed to be removed$/,
    ALL.slice(KINDS.indexOf('ConfigMap')),
  ],
  [
    'an object exists again after each deletion',
    ({ method, path }) => (method === 'DELETE' && path.endsWith('/clusterroles/machineconfig-guard') ? {} : undefined),
    failed(1, true),
    /^timed out waiting to delete ClusterRole machineconfig-guard$/,
    ALL.slice(KINDS.indexOf('ClusterRole')),
  ],
  [
    'something else denies deletions of configs',
    ({ method, path }) => (method === 'DELETE' && path.includes(IN_USE) ? DENIAL : undefined),
    { ...failed(1, true, `list what can deny: oc get ${WHAT_CAN_DENY}`), elapsedMs: 30_000 },
    new RegExp(`^timed out waiting until nothing denies the deletion of ${IN_USE}: 403 admission webhook "other`),
    [],
  ],
])('if %s, says so', async (_condition, answer, expected, problem, remaining) => {
  const cluster = createGuardedCluster();
  const { report, outcome } = await run(cluster, (request) => answer(request, cluster));
  const { text, command } = report.advice ?? {};
  const advice = `${text}: ${command?.words.join(' ') ?? ''}`;
  expect({ ...outcome, written: report.written, advice, elapsedMs: performance.now() }).toMatchObject(expected);
  expect(report.problem).toMatch(problem);
  const left = listInstalled(cluster);
  expect(left).toEqual(remaining.map((pattern) => expect.stringMatching(pattern)));
  expect(report.remaining.map(({ kind }) => kind)).toEqual(left.map((title) => title.split(' ')[0]));
  // Of the dry run after the deletions.
  expect(report.dryRun === null).toBe(left.length > 0);
});

test('waits for the namespace and then 30 s for the end of all denials, and reports each wait', async () => {
  const cluster = createGuardedCluster();
  skipWaits();
  const startedAt = performance.now();
  const { outcome, texts } = await run(cluster, ({ method, path }) => {
    const seconds = (performance.now() - startedAt) / 1_000;
    if (method === 'DELETE' && path.includes(IN_USE) && seconds < 85) return DENIAL;
    if (path.includes('dryRun') || !path.includes('/namespaces/machineconfig-guard')) return undefined;
    const metadata = { deletionTimestamp: 'now' };
    if (seconds > 60) cluster.erase('namespaces', INSTALLED_NAME);
    else if (method === 'DELETE') cluster.patch('namespaces', INSTALLED_NAME, { metadata });
    return method === 'DELETE' ? {} : undefined;
  });
  expect(outcome).toEqual(COMPLETE);
  expect([...new Set(texts.filter((text) => text.startsWith('waiting')))]).toEqual([
    'waiting for Namespace machineconfig-guard to be removed',
    expect.stringMatching(/^waiting until nothing denies the deletion of /),
  ]);
});

test('in a cluster that is not OpenShift, deletes without a dry run of a config', async () => {
  const cluster = createGuardedCluster();
  const isOfOperator = ({ path }: ApiRequest): boolean => path.includes('machineconfiguration');
  const { report, outcome } = await run(cluster, (request) => (isOfOperator(request) ? NOT_SERVED : undefined));
  expect(outcome).toEqual(COMPLETE);
  expect(report.dryRun).toBeNull();
  expect(listInstalled(cluster)).toEqual([]);
});

test('sends another dry run if the config was replaced meanwhile', async () => {
  let conflicts = 0;
  const { outcome, report } = await run(createGuardedCluster(), ({ method, path }) => {
    if (method !== 'DELETE' || !path.includes(IN_USE) || conflicts > 0) return undefined;
    conflicts += 1;
    return new ApiError(409, 'Conflict', 'the UID in the precondition does not match');
  });
  expect([outcome, report.dryRun?.config, conflicts]).toEqual([COMPLETE, IN_USE, 1]);
});

test('goes on if an object is gone before its dry run, or has changed before its deletion', async () => {
  const cluster = createGuardedCluster();
  let conflicts = 0;
  const { outcome, report, texts } = await run(cluster, ({ method, path }) => {
    if (method !== 'DELETE') return undefined;
    if (path.includes('/configmaps/machineconfig-guard?'))
      cluster.erase('configmaps', INSTALLED_NAME, 'openshift-config-managed');
    if (!path.endsWith('/clusterroles/machineconfig-guard') || conflicts > 0) return undefined;
    conflicts += 1;
    return new ApiError(409, 'Conflict', 'the object has been modified');
  });
  expect([outcome, conflicts, listInstalled(cluster)]).toEqual([COMPLETE, 1, []]);
  expect(texts).toContainEqual(expect.stringMatching(/ answered 409 to delete clusterroles\..*; retrying$/));
  const unnecessary = report.steps.filter(({ state }) => state === 'unnecessary');
  expect(unnecessary.map(({ description }) => description)).toEqual([expect.stringMatching(/^delete ConfigMap /)]);
});

test('reports what was done before a defect of the program, and then fails with it', async () => {
  const defect = new TypeError('x is not a function');
  const { report, failure, outcome } = await run(createGuardedCluster(), ({ method, path }) =>
    method === 'DELETE' && path.endsWith('/clusterroles/machineconfig-guard') ? defect : undefined,
  );
  expect(outcome).toEqual({ ok: false, exitCode: 1, problem: 'x is not a function' });
  expect([report.written, report.advice?.text]).toEqual([true, 'continue']);
  expect(() => throwUnlessOk(report, failure)).toThrow(defect);
});
