import { Readable } from 'node:stream';
import { handleRequest } from './in-memory-cluster/handle-request.ts';
import type { InMemoryCluster } from './in-memory-cluster/in-memory-cluster.ts';
import type { ApiRequest, ApiResponse, KubeApi } from '../../src/kube/api.ts';
import { ApiError } from '../../src/kube/errors.ts';

/** A client of an in-memory cluster in the same process. It has no watches. */
export class InProcessApi implements Pick<KubeApi, 'json' | 'request'> {
  readonly requests: ApiRequest[] = [];
  /** If present, every request fails with it. */
  failure: Error | undefined;
  readonly #cluster: InMemoryCluster;

  constructor(cluster: InMemoryCluster) {
    this.#cluster = cluster;
  }

  async json(request: ApiRequest): Promise<unknown> {
    this.requests.push(request);
    if (this.failure !== undefined) throw this.failure;
    const { method = 'GET', path, accept, contentType = 'application/json', body } = request;
    // A GET reads the cluster before the first await, so its answer is that of the moment of the call.
    const answer = await handleRequest(this.#cluster, { method, path, accept, contentType, body });
    const { reason = '', message = '' } = answer.body as { reason?: string; message?: string };
    if (answer.status >= 400) throw new ApiError(answer.status, reason, message);
    return answer.body;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const body = Readable.from([Buffer.from(JSON.stringify(await this.json(request)))]);
    return { headers: {}, body: body as ApiResponse['body'] };
  }
}
