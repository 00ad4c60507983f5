import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { KubeClientOptions } from '../../test/e2e/control-plane/kube-client.ts';
import { PATHS } from '../../test/e2e/support/objects.ts';

/** The cheapest list that contains every node's annotations. */
const ACCEPT = 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Lists all nodes as a live read must: consistently, in one request. It only counts the bytes. */
export class PlainList {
  readonly #connection: KubeClientOptions;
  readonly #agent: Agent;

  constructor(connection: KubeClientOptions) {
    this.#connection = connection;
    this.#agent = new Agent({ ca: connection.ca, keepAlive: true });
  }

  /** Returns the milliseconds from the request to the last byte. @throws Error if the API server does not answer 200 */
  async measure(): Promise<number> {
    const { url, token } = this.#connection;
    const startedAt = performance.now();
    const headers = { accept: ACCEPT, authorization: `Bearer ${token}` };
    const outgoing = request(new URL(PATHS.nodes, url), { agent: this.#agent, headers }).end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await once(response, 'end');
    if (response.statusCode !== 200 || bytes === 0) throw new Error(`a list of nodes answered ${response.statusCode}`);
    return performance.now() - startedAt;
  }
}
