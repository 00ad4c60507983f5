import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent, type AgentOptions, request as httpsRequest, type RequestOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import { formatMebibytes } from '../common/printable-text.ts';
import { limitSignal, waitOrAbort } from '../common/wait.ts';
import { parseTime } from './api-object.ts';
import { ApiError, ApiUnreachable, describeError } from './errors.ts';
import { PROTOBUF_MEDIA_TYPE } from './media-types.ts';

export type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'auth' | 'agent'
> & {
  readonly headers: Readonly<Record<string, string>>;
};

export interface Connection {
  readonly server: URL;
  /** Requests must then use the agent in the credentials. */
  readonly isProxied: boolean;
  /** Whether the credentials come from a program that has not ended. */
  readonly isLoggingIn: boolean;
  /** Rejects with a CredentialsError, or the signal's reason. */
  readonly credentials: (signal?: AbortSignal) => Promise<Credentials>;
  /** Reads the configuration again. If that fails, it throws, and the old one stays. */
  readonly reload: () => void;
}

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly accept?: string | undefined;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly purpose?: Purpose | undefined;
  /** Limits the request until the end of its response. The default is that of the client, and for `json` else 5 s. */
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

/** A response with a 2xx status. Its body must be read to the end or destroyed. */
export interface ApiResponse {
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

export const MERGE_PATCH = 'application/merge-patch+json';
const MAX_ERROR_BODY_BYTES = 64 * 1024;
const MAX_TEXT_BYTES = 16 * 1024 * 1024;
const MAX_RETRY_AFTER_MS = 60_000;
/** By default, of a request about one object, which an API server answers within milliseconds. */
const OBJECT_TIMEOUT_MS = 5_000;
const DATE_RESOLUTION_MS = 1_000;
/** A person then asks why a command prints nothing. A dry run waits 5 s for a webhook that does not answer. */
const SILENCE_NOTICE_MS = 7_000;

/** Keeps its connections. The client library would open one for each request, and cannot stream a list. */
export class KubeApi {
  readonly connection: Connection;
  readonly #userAgent: string;
  readonly #requestTimeoutMs: number | undefined;
  readonly #onSilence: (() => void) | undefined;
  readonly #transport = new Transport();
  /** How far the clock of the API server is ahead of the monotonic one. */
  #clockOffsetMs: number | undefined;

  /**
   * @param requestTimeoutMs limits each request that is not a watch, until the end of its response
   * @param onSilence is called for each request that has had no response for 7 s
   */
  constructor(
    connection: Connection,
    userAgent = 'machineconfig-guard',
    requestTimeoutMs?: number,
    onSilence?: () => void,
  ) {
    this.connection = connection;
    this.#userAgent = userAgent;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#onSilence = onSilence;
  }

  get address(): string {
    return this.connection.server.host;
  }

  /** The time by the clock of the API server, or by the own clock before the first response. */
  now(): Date {
    return this.#clockOffsetMs === undefined ? new Date() : new Date(performance.now() + this.#clockOffsetMs);
  }

  /**
   * Sends a request. After a 401 it is sent again with reloaded credentials, because a token can be replaced on disk.
   * {@link Transport} says what happens without a response.
   * @throws ApiError, ApiUnreachable, or the signal's reason; TimeoutError after its timeout
   */
  async request(request: ApiRequest): Promise<ApiResponse> {
    try {
      return await this.#sendInTime(request);
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      try {
        this.connection.reload();
      } catch {
        // The kubeconfig is being replaced or is broken. What the API server answered stays true.
        throw error;
      }
      return await this.#sendInTime(request);
    }
  }

  /** Parses the whole response as JSON. Throws like {@link request}, and ApiUnreachable beyond 16 MiB. */
  async json(request: ApiRequest): Promise<unknown> {
    const { body } = await this.request({ timeoutMs: this.#requestTimeoutMs ?? OBJECT_TIMEOUT_MS, ...request });
    const bytes = await readBytes(body, request.signal, MAX_TEXT_BYTES);
    if (bytes.length >= MAX_TEXT_BYTES)
      throw new ApiUnreachable(`the response is larger than ${formatMebibytes(MAX_TEXT_BYTES)}`);
    try {
      return JSON.parse(bytes.toString('utf8'));
    } catch {
      throw new ApiUnreachable(`the response of ${this.address} is not JSON`);
    }
  }

  close(): void {
    this.#transport.close();
  }

  async #sendInTime(request: ApiRequest): Promise<ApiResponse> {
    const { timeoutMs = this.#requestTimeoutMs } = request;
    const limit =
      timeoutMs === undefined || request.purpose?.isWatch ? undefined : limitSignal(timeoutMs, request.signal);
    const silence = this.#onSilence && setTimeout(this.#onSilence, SILENCE_NOTICE_MS);
    try {
      const response = await this.#send(limit === undefined ? request : { ...request, signal: limit.signal });
      if (limit !== undefined) response.body.once('close', limit.release);
      return response;
    } catch (error) {
      limit?.release();
      throw error;
    } finally {
      clearTimeout(silence);
    }
  }

  async #send(request: ApiRequest): Promise<ApiResponse> {
    const { purpose = REQUESTS, signal } = request;
    const { server, isProxied } = this.connection;
    let credentials: Credentials;
    try {
      credentials = await this.connection.credentials(signal);
    } catch (error) {
      if (error === signal.reason) throw error;
      throw new ApiUnreachable(`no credentials for ${server.host}: ${describeError(error)}`, { cause: error });
    }
    const payload = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const { headers, auth, agent: proxyAgent, ...tls } = credentials;
    const options: RequestOptions = {
      protocol: server.protocol,
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
      signal,
      ...(auth === undefined ? {} : { auth }),
      agent: isProxied || server.protocol === 'http:' ? proxyAgent : this.#transport.agentFor(tls, purpose),
    };
    // A request that waits for a connection does not notice the abort itself.
    const response = await waitOrAbort(this.#transport.send(options, payload), signal);
    const date = parseTime(response.headers.date);
    if (date !== undefined) this.#setClock(date);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return { headers: response.headers, body: response };
    throw await readApiError(status, response, signal);
  }

  /** A `Date` has whole seconds, so it is up to a second late. A later one than that shows that a clock was set. */
  #setClock(date: Date): void {
    const offsetMs = date.getTime() - performance.now();
    const lateMs = (this.#clockOffsetMs ?? Number.NEGATIVE_INFINITY) - offsetMs;
    if (lateMs < 0 || lateMs > DATE_RESOLUTION_MS) this.#clockOffsetMs = offsetMs;
  }
}

/** Reads a body until it ends or until there are `max` bytes. @throws ApiUnreachable, or the signal's reason */
async function readBytes(body: IncomingMessage, signal: AbortSignal, max: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= max) break;
    }
  } catch (error) {
    throw toBodyError(error, signal);
  }
  return Buffer.concat(chunks);
}

/** What the error of a body means: its request was aborted, or its connection broke. */
export function toBodyError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return new ApiUnreachable(`the response is incomplete: ${describeError(error)}`);
}

/**
 * Reads the Status object of a response that is not a success. Without one, the message has only the HTTP status.
 * @throws ApiUnreachable if the body is incomplete, or the signal's reason when it aborts
 */
export async function readApiError(status: number, response: IncomingMessage, signal: AbortSignal): Promise<ApiError> {
  const bytes = await readBytes(response, signal, MAX_ERROR_BODY_BYTES);
  const retryAfterMs = Math.min(Number(response.headers['retry-after']) * 1000, MAX_RETRY_AFTER_MS);
  let fields: { readonly reason?: unknown; readonly message?: unknown } | null = {};
  try {
    fields = JSON.parse(bytes.toString('utf8')) as typeof fields;
  } catch {
    // The text of a proxy or of an unknown path, or protobuf. For lists in protobuf, the status line has the reason.
    const isProtobuf = response.headers['content-type']?.startsWith(PROTOBUF_MEDIA_TYPE) === true;
    if (isProtobuf) fields = { reason: response.statusMessage?.replaceAll(' ', '') };
  }
  const reason = typeof fields?.reason === 'string' ? fields.reason : '';
  // Such as that of a kubelet: container not found ("machine-config-daemon").
  const isText = response.headers['content-type']?.startsWith('text/plain') === true;
  const texts = [`HTTP ${status}`, isText ? bytes.toString('utf8').trim() : ''];
  const message = typeof fields?.message === 'string' ? fields.message : texts.filter(Boolean).join(': ');
  return new ApiError(status, reason, message, retryAfterMs >= 0 ? retryAfterMs : undefined);
}

/**
 * What requests are for. Each purpose has its own connections, so that hanging requests delay no others. Requests
 * beyond the limit wait.
 */
export interface Purpose {
  readonly name: string;
  readonly maxConnections: number;
  /** Whether a response lasts for minutes, so that no timeout limits it. */
  readonly isWatch?: true;
}

const REQUESTS: Purpose = { name: 'requests', maxConnections: 32 };
export const LISTS: Purpose = { name: 'lists', maxConnections: 8 };
export const WATCHES: Purpose = { name: 'watches', maxConnections: Number.POSITIVE_INFINITY, isWatch: true };

/** A connection can be dead after this silence: a load balancer has lost it, or the API server behind it. */
const SILENCE_MS = 1_000;
/** An idle connection can die silently. The guard reads its settings each second, so one stays open. */
const MAX_IDLE_MS = 5_000;

/**
 * Sends requests over connections that it keeps. If a GET has no response after a second of silence, its connection
 * may be dead, so the idle ones close, which can be dead for the same reason. The request waits for its timeout,
 * because the API server can also be slow. If a used connection closes before the response, a GET is sent again once
 * on a new connection. Other requests fail: they may have had an effect.
 */
export class Transport {
  #tls: AgentOptions | undefined;
  readonly #agents = new Map<Purpose, Agent>();

  /** Resolves with the head of the response. @throws ApiUnreachable */
  async send(options: RequestOptions, body: Buffer | undefined): Promise<IncomingMessage> {
    const createRequest = options.protocol === 'http:' ? httpRequest : httpsRequest;
    const isGet = options.method === 'GET';
    let canSendAgain = isGet;
    return await new Promise((resolve, reject) => {
      const send = (): void => {
        const request = createRequest(isGet ? { ...options, timeout: SILENCE_MS } : options);
        request.on('response', (response) => {
          request.setTimeout(0);
          canSendAgain = false;
          resolve(response);
        });
        request.on('timeout', () => this.#closeIdleConnections());
        request.on('error', (error) => {
          if (canSendAgain && request.reusedSocket && options.signal?.aborted !== true) {
            canSendAgain = false;
            this.#closeIdleConnections();
            send();
            return;
          }
          const address = `${options.hostname}:${options.port}`;
          reject(new ApiUnreachable(`${address} cannot be reached: ${describeError(error)}`, { cause: error }));
        });
        request.end(body);
      };
      send();
    });
  }

  /** Keeps the agents until the TLS material changes. Open requests of the old agents finish. */
  agentFor({ ca, cert, key, servername, rejectUnauthorized }: AgentOptions, purpose: Purpose): Agent {
    const tls = { ca, cert, key, servername, rejectUnauthorized };
    if (!isDeepStrictEqual(this.#tls, tls)) this.#agents.clear();
    this.#tls = tls;
    const maxSockets = purpose.maxConnections;
    const options = { keepAlive: true, maxSockets, timeout: MAX_IDLE_MS, ...tls };
    const agent = this.#agents.get(purpose) ?? new Agent(options);
    this.#agents.set(purpose, agent);
    return agent;
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #closeIdleConnections(): void {
    for (const { freeSockets } of this.#agents.values()) {
      for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
    }
  }
}
