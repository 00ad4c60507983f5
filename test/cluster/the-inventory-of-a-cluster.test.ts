import { expect, test } from 'vitest';
import { ApiError, ApiUnreachable, MalformedList } from '../../src/kube/errors.ts';
import { MalformedObject } from '../../src/kube/api-object.ts';
import { readConfigSize, readConfigs, readReferrers, readClusterSnapshot } from '../../src/inspect/cluster-reader.ts';
import { ClusterAccessError } from '../../src/inspect/cluster-access.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import {
  ALPHA_BUILDS,
  BUILDS,
  directory,
  fail,
  fakeApi,
  type Handler,
  list,
  node,
  NODES,
  notServed,
  pool,
  POOLS,
  send,
} from '../support/fake-api.ts';

const CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';
const A = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';

const config = { kind: 'PartialObjectMetadata', metadata: { name: A, creationTimestamp: '2026-11-20T10:00:00Z' } };
const WHOLE: Readonly<Record<string, string>> = {
  [NODES]: list([node('w1', A), node('w0', A)]),
  [POOLS]: list([pool('worker', A)]),
  [BUILDS]: list([{ metadata: { name: 'b0' }, spec: { machineConfig: { name: A } } }]),
  [CONFIGS]: list([config]),
};

function serving(lists: Readonly<Record<string, string>>): Handler {
  return (asked, response) => {
    if (directory(asked, response, Object.keys(lists))) return;
    const body = lists[asked.path];
    if (body === undefined) notServed(response);
    else send(response, body);
  };
}

const signal = (): AbortSignal => AbortSignal.timeout(10_000);

test('nodes, pools and the names of the configs, each in one list, the configs last', async () => {
  const { api, asked } = await fakeApi(serving(WHOLE));

  const { nodes, pools, configs } = await readClusterSnapshot(api, undefined, signal());

  expect(nodes.map(({ referrer }) => referrer.name)).toEqual(['w0', 'w1']);
  expect(pools.map(({ referrer }) => referrer.references)).toEqual([
    [{ field: 'spec', config: A, strength: 'strong' }],
  ]);
  expect([...configs]).toEqual([A]);
  expect(
    asked
      .map(({ path }) => path)
      .slice(0, 2)
      .toSorted(),
  ).toEqual([NODES, POOLS]);
  expect(asked.map(({ path }) => path).slice(2)).toEqual([CONFIGS]);
  // Consistent and un-paged, and no more than metadata where that is enough.
  expect(asked.map(({ query }) => query.toString())).toEqual(['', '', '']);
  for (const { path, headers } of asked) {
    expect(headers.accept?.includes('as=PartialObjectMetadataList')).toBe(path !== POOLS);
  }
});

test('labels, state and reason come along; the selector goes to the API server as it is', async () => {
  const metadata = {
    name: 'w0',
    labels: { zone: 'a' },
    annotations: {
      'machineconfiguration.openshift.io/state': 'Degraded',
      'machineconfiguration.openshift.io/reason': 'disk full',
    },
  };
  const { api, asked } = await fakeApi(serving({ ...WHOLE, [NODES]: list([{ metadata }]) }));

  const { nodes } = await readClusterSnapshot(api, 'zone in (a,b),!x', signal());

  expect(nodes).toMatchObject([{ labels: { zone: 'a' }, state: 'Degraded', reason: 'disk full' }]);
  const selected = asked.filter(({ query }) => query.size > 0);
  expect(selected.map(({ path, query }) => [path, query.get('labelSelector')])).toEqual([[NODES, 'zone in (a,b),!x']]);
});

test('who names a config: nodes, pools, and builds in whichever version they are served', async () => {
  const { [BUILDS]: v1 = '', ...rest } = WHOLE;
  const { api } = await fakeApi(serving({ ...rest, [ALPHA_BUILDS]: v1 }));
  const referrers = await readReferrers(api, signal());
  expect(referrers.map(({ kind }) => kind).toSorted()).toEqual(['MachineConfigPool', 'MachineOSBuild', 'Node', 'Node']);
});

test('a cluster without builds has none', async () => {
  const { [BUILDS]: _none, ...rest } = WHOLE;
  const { api } = await fakeApi(serving(rest));
  const referrers = await readReferrers(api, signal());
  expect(referrers.map(({ kind }) => kind).toSorted()).toEqual(['MachineConfigPool', 'Node', 'Node']);
});

test.each([
  ['machineconfigpools', POOLS],
  ['machineconfigs', CONFIGS],
])('a cluster without %s cannot be judged', async (resource, path) => {
  const { [path]: _none, ...rest } = WHOLE;
  const { api } = await fakeApi(serving(rest));
  await expect(readClusterSnapshot(api, undefined, signal())).rejects.toMatchObject({
    name: 'ClusterAccessError',
    access: { verb: 'list', resource, group: 'machineconfiguration.openshift.io' },
    cause: { status: 404 },
  });
});

test.each([
  [
    'refused',
    ApiError,
    (path: string): Handler =>
      (asked, response) => {
        if (asked.path === path) fail(response, 403);
        else void serving(WHOLE)(asked, response);
      },
  ],
  [
    'cut off',
    MalformedList,
    (path: string): Handler =>
      (asked, response) => {
        if (asked.path === path) send(response, (WHOLE[path] ?? '').slice(0, -2));
        else void serving(WHOLE)(asked, response);
      },
  ],
  [
    'reset',
    ApiUnreachable,
    (path: string): Handler =>
      (asked, response) => {
        if (asked.path === path) response.destroy();
        else void serving(WHOLE)(asked, response);
      },
  ],
  [
    'of another shape',
    MalformedObject,
    (path: string): Handler => serving({ ...WHOLE, [path]: list([{ metadata: {} }]) }),
  ],
])('a list that is %s says which', async (_what, cause, handler) => {
  for (const [path, resource, group] of [
    [NODES, 'nodes', ''],
    [CONFIGS, 'machineconfigs', 'machineconfiguration.openshift.io'],
  ] as const) {
    const { api } = await fakeApi(handler(path));
    const failure: unknown = await readClusterSnapshot(api, undefined, signal()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ClusterAccessError);
    expect(failure).toMatchObject({ access: { verb: 'list', resource, group }, cause: expect.any(cause) });
  }
});

test('out of time is not a failure of the cluster', async () => {
  const { api } = await fakeApi(() => {});
  await expect(readClusterSnapshot(api, undefined, AbortSignal.timeout(50))).rejects.toMatchObject({
    name: 'TimeoutError',
  });
  await expect(readConfigs(api, AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect(readConfigSize(api, toConfigName(A), AbortSignal.timeout(50))).rejects.toMatchObject({
    name: 'TimeoutError',
  });
});

test("a config's size is the length of its JSON in bytes", async () => {
  const body = JSON.stringify({ metadata: { name: A }, spec: { text: 'ä'.repeat(100_000) } });
  const { api, asked } = await fakeApi((_asked, response) => {
    send(response, body);
  });
  expect(await readConfigSize(api, toConfigName(A), signal())).toBe(Buffer.byteLength(body));
  expect(asked.map(({ path }) => path)).toEqual([`${CONFIGS}/${A}`]);
});

test('one that has gone meanwhile has none; one that may not be seen is a failure', async () => {
  const gone = await fakeApi((_asked, response) => {
    fail(response, 404);
  });
  expect(await readConfigSize(gone.api, toConfigName(A), signal())).toBeUndefined();
  const hidden = await fakeApi((_asked, response) => {
    fail(response, 403);
  });
  await expect(readConfigSize(hidden.api, toConfigName(A), signal())).rejects.toMatchObject({
    access: { verb: 'get', resource: 'machineconfigs' },
  });
});
