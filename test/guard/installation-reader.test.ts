import { beforeEach, expect, test } from 'vitest';
import { InMemoryCluster } from '../../src/demo/cluster/in-memory-cluster.ts';
import { InstallationReader } from '../../src/guard/installation-reader.ts';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import { ApiError } from '../../src/kube/errors.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { memoryLog } from '../support/log.ts';

const NAMESPACE = 'guard-namespace';
const { signal } = new AbortController();
const clientConfig = { url: 'https://127.0.0.1:9443/validate', caBundle: 'x' };

let cluster: InMemoryCluster;
let api: InProcessApi;

beforeEach(() => {
  cluster = new InMemoryCluster();
  api = new InProcessApi(cluster);
});

function createReader() {
  const { log, lines } = memoryLog();
  return {
    reader: new InstallationReader({ api, log, namespace: NAMESPACE, isLeader: () => true }),
    lines,
  };
}

function install(status: object): void {
  const configuration = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Ignore' });
  cluster.create('validatingwebhookconfigurations', configuration);
  const metadata = { name: 'machineconfig-guard', namespace: NAMESPACE };
  cluster.create('deployments', { metadata, spec: { replicas: 2 }, status });
}

test('reads the failurePolicy and the counts of its own objects', async () => {
  install({ readyReplicas: 1 });
  const { reader } = createReader();
  await reader.read(signal);
  expect(reader.current).toEqual({ failurePolicy: 'Ignore', replicas: 2, readyReplicas: 1 });
  expect(api.requests.map(({ path }) => path)).toEqual([
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/machineconfig-guard',
    `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/machineconfig-guard`,
  ]);
});

test('counts no ready replica if the status has none', async () => {
  install({});
  const { reader } = createReader();
  await reader.read(signal);
  expect(reader.current).toMatchObject({ replicas: 2, readyReplicas: 0 });
});

test('knows nothing without the objects, and logs nothing', async () => {
  const { reader, lines } = createReader();
  await reader.read(signal);
  expect([reader.current, lines]).toEqual([
    { failurePolicy: null, replicas: null, readyReplicas: null },
    [],
  ]);
});

test('keeps the last values while the objects are unreadable, and logs it once', async () => {
  install({ readyReplicas: 2 });
  const { reader, lines } = createReader();
  await reader.read(signal);
  api.failure = new ApiError(403, 'Forbidden', 'x');
  await reader.read(signal);
  await reader.read(signal);
  expect(reader.current).toEqual({ failurePolicy: 'Ignore', replicas: 2, readyReplicas: 2 });
  expect(lines).toMatchObject([
    { msg: 'cannot read the installation for the status: the API server answered 403 Forbidden' },
  ]);
});
