import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent, type AgentOptions, request as httpsRequest, type RequestOptions } from 'node:https';
import type { KubeConnection, Credentials } from './connection.ts';
import { PROTOBUF_MAGIC } from './lists/protobuf-reader.ts';
import { parseProtobufStatus } from './lists/protobuf-status.ts';

/** One call of the Kubernetes API. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Path and query, beginning with `/`. */
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Ends the call, whatever it is doing. */
  readonly signal: AbortSignal;
}

/** A response whose status is 2xx. The body must be read to its end or destroyed. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

/** The API server answered, and the answer was not a success. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** The `reason` of its Status object, or an empty string. */
  readonly reason: string;
  /** Its Retry-After in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer, or only a part of one: refused, reset, cut off, not trusted. */
export class ApiUnreachable extends Error {
  override readonly name = 'ApiUnreachable';
}

/** An error answer is read up to here; a Status object is far smaller. */
const ERROR_BODY_MAX = 64 * 1024;

/**
 * Talks to one API server over connections that are kept open. Authentication and endpoints come from KubeConfig; the
 * requests are our own, because the client library opens a new TLS connection for each and cannot stream a list.
 */
export class KubeApi {
  readonly #connection: KubeConnection;
  readonly #userAgent: string;
  #agent: { agent: Agent; ca: unknown; cert: unknown; key: unknown; servername: unknown } | undefined;

  constructor(connection: KubeConnection, userAgent = 'machineconfig-guard') {
    this.#connection = connection;
    this.#userAgent = userAgent;
  }

  /** Base address of the API server, for people. */
  get address(): string {
    return this.#connection.server.host;
  }

  /**
   * Sends one request. A 401 is tried once more with credentials read afresh: a service account's token is replaced on
   * disk while the old one is cached. A GET on a kept connection that the server closed meanwhile is also sent again.
   *
   * @throws ApiError for an answer other than 2xx, ApiUnreachable for none, the signal's reason when it aborts
   */
  async request(request: ApiRequest): Promise<ApiResponse> {
    try {
      return await this.#send(request);
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      if (error instanceof StaleConnection && (request.method ?? 'GET') === 'GET') return await this.#send(request);
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      this.#connection.reload();
      return await this.#send(request);
    }
  }

  /** The whole body of a response as JSON. Same errors as {@link request}. */
  async json(request: ApiRequest): Promise<unknown> {
    const { body } = await this.request(request);
    const bytes = await readBytes(body, request.signal);
    try {
      return JSON.parse(bytes.toString('utf8'));
    } catch {
      throw new ApiUnreachable(`the answer of ${this.address} is not JSON`);
    }
  }

  /** Closes the kept connections. */
  close(): void {
    this.#agent?.agent.destroy();
    this.#agent = undefined;
  }

  async #send(request: ApiRequest): Promise<ApiResponse> {
    const { server } = this.#connection;
    let credentials: Credentials;
    try {
      credentials = await this.#connection.credentials();
    } catch (error) {
      // Only the kind of the failure: an exec plug-in's message can carry what it printed.
      const kind = (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.name : 'error');
      throw new ApiUnreachable(`no credentials for ${server.host}: ${kind}`);
    }
    request.signal.throwIfAborted();
    const response = await this.#exchange(server, credentials, request);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return { status, headers: response.headers, body: response };
    throw await apiError(status, response, request.signal);
  }

  async #exchange(server: URL, credentials: Credentials, request: ApiRequest): Promise<IncomingMessage> {
    const payload = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const { headers, auth, agent: proxyAgent, ...tls } = credentials;
    const options: RequestOptions = {
      // An address of IPv6 has brackets in a URL, and nowhere else.
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
      agent: this.#connection.proxied || server.protocol === 'http:' ? proxyAgent : this.#keptAgent(tls),
    };
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const send = server.protocol === 'http:' ? httpRequest : httpsRequest;
      const outgoing = send(options, resolve);
      outgoing.on('error', (error) => {
        if (request.signal.aborted) reject(request.signal.reason as Error);
        else if (outgoing.reusedSocket) reject(new StaleConnection(unreachable(server, error)));
        else reject(new ApiUnreachable(unreachable(server, error)));
      });
      outgoing.end(payload);
    });
  }

  /** One agent for as long as the TLS material stays the same. Old sockets of a replaced one end with their requests. */
  #keptAgent({ ca, cert, key, servername, rejectUnauthorized }: AgentOptions): Agent {
    const kept = this.#agent;
    const same = kept !== undefined && equal(kept.ca, ca) && equal(kept.cert, cert) && equal(kept.key, key);
    if (same && kept.servername === servername) return kept.agent;
    const agent = new Agent({
      keepAlive: true,
      // Detects a peer that vanished without a word; requests have their own deadlines.
      keepAliveMsecs: 15_000,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(servername === undefined ? {} : { servername }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    });
    this.#agent = { agent, ca, cert, key, servername };
    return agent;
  }
}

/** A connection that was open turned out to be closed: not a statement about the server. */
class StaleConnection extends ApiUnreachable {}

/**
 * The rest of a body, up to a limit.
 *
 * @throws ApiUnreachable where it ends early
 */
async function readBytes(body: IncomingMessage, signal: AbortSignal, max = Number.POSITIVE_INFINITY): Promise<Buffer> {
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
    throw new ApiUnreachable(`the answer broke off: ${describeError(error)}`);
  }
  return Buffer.concat(chunks);
}

/** An error in one line without secrets: the message of our own errors, the code of Node's, else only the class. */
export function describeError(error: unknown): string {
  if (error instanceof ApiError)
    return `the API server answered ${error.status}${error.reason === '' ? '' : ` ${error.reason}`}`;
  if (error instanceof ApiUnreachable) return error.message;
  if (!(error instanceof Error)) return 'unknown error';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  return error.name === 'TimeoutError' ? 'timed out' : error.name === 'AbortError' ? 'aborted' : error.message;
}

function unreachable(server: URL, error: Error): string {
  return `${server.host} cannot be reached: ${describeError(error)}`;
}

async function apiError(status: number, response: IncomingMessage, signal: AbortSignal): Promise<ApiError> {
  const bytes = await readBytes(response, signal, ERROR_BODY_MAX);
  const seconds = Number(response.headers['retry-after']);
  const retryAfterMs = response.headers['retry-after'] !== undefined && seconds >= 0 ? seconds * 1000 : undefined;
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
    // Not a Status object: a proxy's page, or the plain text of an unknown path. The status says enough.
  }
  return new ApiError(status, reason, message, retryAfterMs);
}

function equal(a: unknown, b: unknown): boolean {
  return a === b || (Buffer.isBuffer(a) && Buffer.isBuffer(b) && a.equals(b));
}
