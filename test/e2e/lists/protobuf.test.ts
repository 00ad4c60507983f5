import { afterAll, expect, test } from 'vitest';

import { ACCEPT_PROTOBUF_LIST, type ApiObject, parseTime, PROTOBUF_MEDIA_TYPE } from '../../../src/kube/api-object.ts';
import { listCollection } from '../../../src/kube/lists/list.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const METADATA_FIELDS = new Set(['name', 'uid', 'creationTimestamp', 'deletionTimestamp', 'labels', 'annotations']);
const installed = await sharedInstalledCluster();
const { cluster } = installed;
const api = installed.controlPlane.connectApi((await installed.connectAsGuard()).token);
const config = await cluster.config();
const createNode = () => cluster.node({ currentConfig: config, desiredConfig: config });
await Promise.all(Array.from({ length: 300 }, createNode));

afterAll(() => api.close());

async function listProtobuf(kind: string, collection: string): Promise<readonly ApiObject[]> {
  const objects: ApiObject[] = [];
  const add = (object: ApiObject) => void objects.push(object);
  const signal = AbortSignal.timeout(10_000);
  await listCollection(api, collection, { kind, isMetadataOnly: true }, add, signal);
  return objects;
}

/** The metadata that both formats have. JSON omits empty maps, and times of protobuf are numbers. */
function selectMetadata({ metadata }: ApiObject): unknown {
  const fields = Object.entries(metadata as Readonly<Record<string, unknown>>);
  const isFilled = (value: unknown) => value !== undefined && JSON.stringify(value) !== '{}';
  return Object.fromEntries(
    fields
      .filter(([name, value]) => METADATA_FIELDS.has(name) && isFilled(value))
      .map(([name, value]) => [name, name.endsWith('Timestamp') ? parseTime(value) : value]),
  );
}

test.each([
  ['Node', PATHS.nodes],
  ['MachineConfig', PATHS.configs],
])('%s has the same metadata in protobuf as in JSON', async (kind, collection) => {
  const signal = AbortSignal.timeout(10_000);
  const response = await api.request({ path: collection, accept: ACCEPT_PROTOBUF_LIST, signal });
  response.body.resume();
  expect(response.headers['content-type']).toContain(PROTOBUF_MEDIA_TYPE);

  const objects = await listProtobuf(kind, collection);

  const jsonObjects = await cluster.admin.list(collection);
  expect(objects.length).toBeGreaterThan(0);
  expect(objects.map(selectMetadata)).toEqual(jsonObjects.map(selectMetadata));
});
