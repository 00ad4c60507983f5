import { afterAll, beforeAll, expect, test } from 'vitest';

import { ApiError } from '../../../src/kube/errors.ts';
import { acceptHeaderForStreamedList, PROTOBUF_MEDIA_TYPE } from '../../../src/kube/resource.ts';
import type { ApiObject } from '../../../src/kube/api-object.ts';
import { KubeApi } from '../../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../../src/kube/connection.ts';
import { listCollection, listResource } from '../../../src/kube/lists/list.ts';
import { NODES } from '../../../src/references/sources.ts';
import { parseNodeReferrer } from '../../../src/references/parse-referrer.ts';
import { kubeconfig } from '../control-plane/control-plane.ts';
import { sharedCluster } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';

const cluster = sharedCluster();
const KEPT = ['name', 'uid', 'creationTimestamp', 'deletionTimestamp', 'labels', 'annotations'] as const;
const COUNT = 300;
let api: KubeApi;

beforeAll(async () => {
  const { url, ca, token = '' } = cluster.connection.guard;
  api = new KubeApi(connectionFromKubeconfig(kubeconfig(url, ca, { token })));
  const config = await cluster.config();
  const nodes = Array.from({ length: COUNT }, () => cluster.node({ currentConfig: config, desiredConfig: config }));
  await Promise.all(nodes);
});

afterAll(() => {
  api.close();
});

/** What both forms have in common, by name. */
function kept(objects: readonly ApiObject[]): unknown {
  const entries = objects.map(({ metadata }) => {
    const fields = metadata as Readonly<Record<string, unknown>>;
    const values = KEPT.map((field) => [field, fields[field]] as const);
    // JSON leaves out a map without entries.
    const filled = values.filter(([, value]) => value !== undefined && JSON.stringify(value) !== '{}');
    return [String(fields['name']), Object.fromEntries(filled)] as const;
  });
  return Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b)));
}

test.each([PATHS.nodes, PATHS.configs])('%s', async (collection) => {
  const streamed: ApiObject[] = [];
  const signal = AbortSignal.timeout(10_000);
  const response = await api.request({ path: collection, accept: acceptHeaderForStreamedList(true), signal });
  response.body.resume();
  expect(response.headers['content-type']).toContain(PROTOBUF_MEDIA_TYPE);

  await listCollection(api, collection, { isMetadataOnly: true }, (object) => streamed.push(object), signal);

  const asJson = await cluster.admin.list(collection);
  expect(streamed.length).toBeGreaterThan(0);
  expect(kept(streamed)).toEqual(kept(asJson));
});

test('nodes refer to the same configs', async () => {
  const streamed: unknown[] = [];
  const keep = (object: ApiObject) => streamed.push(parseNodeReferrer(object));
  await listResource(api, NODES, keep, AbortSignal.timeout(10_000));

  const asJson = (await cluster.admin.list(PATHS.nodes)).map((object) => parseNodeReferrer(object));
  expect(streamed.length).toBeGreaterThanOrEqual(COUNT);
  expect(streamed).toEqual(asJson);
});

test('a refusal can be read as well', async () => {
  const failure = await listCollection(
    api,
    '/api/v1/pods',
    { isMetadataOnly: true },
    () => {},
    AbortSignal.timeout(10_000),
  ).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ApiError);
  expect(failure).toMatchObject({ status: 403, reason: 'Forbidden' });
  expect((failure as ApiError).message).toContain('pods is forbidden: User "system:serviceaccount:');
});
