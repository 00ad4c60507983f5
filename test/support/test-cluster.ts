import { setTimeout as delay } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';
import { ApiServer } from './in-memory-cluster/api-server.ts';
import { ADMIN_USER, handleRequest } from './in-memory-cluster/handle-request.ts';
import { InMemoryCluster } from './in-memory-cluster/in-memory-cluster.ts';
import { findKind, toApiVersion } from './in-memory-cluster/kinds.ts';
import { KubeApi } from '../../src/kube/api.ts';
import { KubeConnection } from '../../src/client/kube-connection.ts';
import { Faults } from './faults.ts';
import { type TestTls, testTls } from './tls.ts';

/**
 * The in-memory cluster with an API server over HTTPS and injected faults. `create`, `patch` and `erase` write
 * without a review. `request` and `delete` are reviewed, but do not pass the HTTPS server and its faults.
 */
export class TestCluster extends InMemoryCluster {
  readonly faults = new Faults();
  readonly #server: ApiServer;

  constructor({ ca }: TestTls, leaf: ConstructorParameters<typeof ApiServer>[0]['leaf']) {
    super();
    this.#server = new ApiServer({ cluster: this, ca, leaf, onRequest: (...call) => this.faults.apply(...call) });
  }

  get url() {
    return this.#server.url;
  }

  /** The text of a kubeconfig for the administrator. */
  get kubeconfig() {
    return this.#server.createKubeconfig();
  }

  get resourceVersion() {
    return this.version;
  }

  /** A client of the API server until the end of the test. Each reload of its credentials gets a new token. */
  connect() {
    const connection = new KubeConnection(() => {
      const config = new KubeConfig();
      config.loadFromString(this.kubeconfig);
      return config;
    });
    const api = new KubeApi(connection);
    onTestFinished(() => api.close());
    return api;
  }

  /** Sets the versions at which a kind is served. None means that its CRD is absent. */
  serve(resource: string, versions: readonly string[]) {
    this.faults.servedVersions.set(findKind(resource), versions);
  }

  async request(method: string, path: string, body?: unknown, user = ADMIN_USER) {
    const answer = await handleRequest(this, { method, path, body, user });
    // As over a network, the client gets the answer a moment later.
    await delay(5);
    return { status: answer.status, body: answer.body as Readonly<Record<string, unknown>> };
  }

  async delete(resource: string, name: string, { as = ADMIN_USER } = {}) {
    const kind = findKind(resource);
    const root = kind.group === '' ? '/api' : '/apis';
    return await this.request('DELETE', `${root}/${toApiVersion(kind)}/${resource}/${name}`, undefined, as);
  }

  /** Starts the API server until the end of the test. */
  async start() {
    await this.#server.start();
    onTestFinished(async () => await this.stop());
  }

  /** The API server cuts all connections and refuses new ones. */
  async stop() {
    await this.#server.stop();
  }
}

let leaf: ReturnType<TestTls['leaf']> | undefined;

/** Starts an empty cluster that stops at the end of the test. */
export async function startTestCluster() {
  const tls = await testTls();
  // Issued once for the files of a worker.
  leaf ??= tls.leaf();
  const cluster = new TestCluster(tls, await leaf);
  await cluster.start();
  return cluster;
}
