import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent, type AgentOptions, request as httpsRequest, type RequestOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import type { Credentials, KubeConnection } from './connection.ts';
import { ApiError, ApiUnreachable, describeError } from './errors.ts';
import { PROTOBUF_MAGIC } from './lists/protobuf-reader.ts';
import { parseProtobufStatus } from './lists/protobuf-status.ts';

/** One request to the Kubernetes API. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Path and query, starting with `/`. */
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** A response with a 2xx status. Its body must be read to the end or destroyed. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

/** The media type of the patches that the guard sends. */
export const MERGE_PATCH = 'application/merge-patch+json';
/** A Status object is far smaller. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;
/** Detects a peer that disappeared silently. Requests have their own timeouts. */
const TCP_KEEP_ALIVE_MS = 15_000;

/**
 * A client of one API server that keeps its connections. The client library would open a TLS connection for
 * each request and cannot stream a list.
 */
export class KubeApi {
  readonly #connection: KubeConnection;
  readonly #userAgent: string;
  #cachedAgent: { readonly agent: Agent; readonly tls: AgentOptions } | undefined;

  constructor(connection: KubeConnection, userAgent = 'machineconfig-guard') {
    this.#connection = connection;
    this.#userAgent = userAgent;
  }

  /** Host and port of the API server, for messages. */
  get address(): string {
    return this.#connection.server.host;
  }

  /**
   * Sends a request. After a 401 it is sent again with reloaded credentials, because a token can be replaced
   * on disk. A GET is also sent again if the server had closed the kept connection.
   *
   * @throws ApiError, ApiUnreachable, or the signal's reason
   */
  async request(request: ApiRequest): Promise<ApiResponse> {
    try {
      return await this.#send(request);
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      if (error instanceof StaleConnection && (request.method ?? 'GET') === 'GET')
        return await this.#send(request);
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      try {
        this.#connection.reload();
      } catch {
        // The kubeconfig is being replaced or is broken. What the API server answered stays true.
        throw error;
      }
      return await this.#send(request);
    }
  }

  /** Parses the whole response as JSON. Throws like {@link request}. */
  async json(request: ApiRequest): Promise<unknown> {
    const { body } = await this.request(request);
    const bytes = await readBytes(body, request.signal);
    try {
      return JSON.parse(bytes.toString('utf8'));
    } catch {
      throw new ApiUnreachable(`the response of ${this.address} is not JSON`);
    }
  }

  close(): void {
    this.#cachedAgent?.agent.destroy();
    this.#cachedAgent = undefined;
  }

  async #send(request: ApiRequest): Promise<ApiResponse> {
    const { server } = this.#connection;
    let credentials: Credentials;
    try {
      credentials = await this.#connection.credentials();
    } catch (error) {
      // Only the kind of the error: the message of an exec plugin can contain what it printed.
      const kind = (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.name : 'error');
      throw new ApiUnreachable(`no credentials for ${server.host}: ${kind}`);
    }
    request.signal.throwIfAborted();
    const response = await this.#exchange(server, credentials, request);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return { status, headers: response.headers, body: response };
    throw await readApiError(status, response, request.signal);
  }

  async #exchange(server: URL, credentials: Credentials, request: ApiRequest): Promise<IncomingMessage> {
    const payload = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const { headers, auth, agent: proxyAgent, ...tls } = credentials;
    const options: RequestOptions = {
      // Only a URL has brackets around an IPv6 address.
      hostname: server.hostname.replaceAll(/[[\]]/g, ''),
      port: server.port,
      path: server.pathname.replace(/\/$/, '') + request.path,
      method: request.method ?? 'GET',
      headers: {
        ...headers,
        accept: request.accept ?? 'application/json',
        'user-agent': this.#userAgent,
        ...(payload === undefined
          ? {}
          : { 'content-type': request.contentType ?? 'application/json', 'content-length': payload.length }),
      },
      signal: request.signal,
      ...(auth === undefined ? {} : { auth }),
      agent: this.#connection.isProxied || server.protocol === 'http:' ? proxyAgent : this.#agentFor(tls),
    };
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const send = server.protocol === 'http:' ? httpRequest : httpsRequest;
      const outgoing = send(options, resolve);
      outgoing.on('error', (error) => {
        const text = `${server.host} cannot be reached: ${describeError(error)}`;
        if (request.signal.aborted) reject(request.signal.reason as Error);
        else reject(outgoing.reusedSocket ? new StaleConnection(text) : new ApiUnreachable(text));
      });
      outgoing.end(payload);
    });
  }

  /** Keeps the agent until the TLS material changes. Open requests of the old agent finish. */
  #agentFor({ ca, cert, key, servername, rejectUnauthorized }: AgentOptions): Agent {
    const tls = Object.fromEntries(
      Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(
        ([, value]) => value !== undefined,
      ),
    ) as AgentOptions;
    if (this.#cachedAgent === undefined || !isDeepStrictEqual(this.#cachedAgent.tls, tls)) {
      const agent = new Agent({ keepAlive: true, keepAliveMsecs: TCP_KEEP_ALIVE_MS, ...tls });
      this.#cachedAgent = { agent, tls };
    }
    return this.#cachedAgent.agent;
  }
}

/** The server had closed a kept connection. It can still be reachable. */
class StaleConnection extends ApiUnreachable {}

/**
 * Reads a body until it ends or until there are `max` bytes.
 *
 * @throws ApiUnreachable if the body is incomplete
 */
async function readBytes(
  body: IncomingMessage,
  signal: AbortSignal,
  max = Number.POSITIVE_INFINITY,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= max) break;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new ApiUnreachable(`the response is incomplete: ${describeError(error)}`);
  }
  return Buffer.concat(chunks);
}

async function readApiError(status: number, response: IncomingMessage, signal: AbortSignal): Promise<ApiError> {
  const bytes = await readBytes(response, signal, MAX_ERROR_BODY_BYTES);
  const retryAfter = response.headers['retry-after'];
  const retryAfterMs =
    retryAfter !== undefined && Number(retryAfter) >= 0 ? Number(retryAfter) * 1000 : undefined;
  let reason = '';
  let message = `HTTP ${status}`;
  try {
    const isProtobuf = bytes.subarray(0, PROTOBUF_MAGIC.length).equals(PROTOBUF_MAGIC);
    const body = (isProtobuf ? parseProtobufStatus(bytes) : JSON.parse(bytes.toString('utf8'))) as {
      reason?: unknown;
      message?: unknown;
    } | null;
    if (typeof body?.reason === 'string') reason = body.reason;
    if (typeof body?.message === 'string') message = body.message;
  } catch {
    // Not a Status object, but the text of a proxy or of an unknown path.
  }
  return new ApiError(status, reason, message, retryAfterMs);
}
