import { type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent, type AgentOptions, request as httpsRequest, type RequestOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import { ApiUnreachable, describeError } from './errors.ts';

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

export const REQUESTS: Purpose = { name: 'requests', maxConnections: 32 };
export const LISTS: Purpose = { name: 'lists', maxConnections: 8 };
export const WATCHES: Purpose = { name: 'watches', maxConnections: Number.POSITIVE_INFINITY, isWatch: true };

/** A connection can be dead after this silence: a load balancer has lost it, or the API server behind it. */
const SILENCE_MS = 1_000;
/** An idle connection can die silently. The guard reads its settings each second, so one stays open. */
const MAX_IDLE_MS = 5_000;
/** Detects a peer that disappeared silently. Requests have their own timeouts. */
const TCP_KEEP_ALIVE_MS = 15_000;

/**
 * Sends requests over connections that it keeps. If a GET has no response after a second of silence, its connection
 * may be dead, so the idle ones close, which can be dead for the same reason. The request waits for its timeout,
 * because the API server can also be slow. If a used connection closes before the response, a GET is sent again once
 * on a new connection. Other requests fail: they may have had an effect.
 */
export class Transport {
  #tls: AgentOptions | undefined;
  readonly #agents = new Map<Purpose, Agent>();

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
    const options = { keepAlive: true, keepAliveMsecs: TCP_KEEP_ALIVE_MS, maxSockets, timeout: MAX_IDLE_MS, ...tls };
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
