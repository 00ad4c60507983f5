import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent, type AgentOptions, request as httpsRequest, type RequestOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import { ApiUnreachable, describeError } from './errors.ts';

/** The limits of connections for each purpose, so that hanging requests delay no others. Further requests wait. */
const MAX_CONNECTIONS = {
  requests: 32,
  events: 4,
  /** Made-up names of configs can cause them. */
  lookUps: 8,
  /** Of all kinds but nodes. */
  lists: 8,
  /** Also a bound on what a slow API server has to do for a replica. */
  nodeLists: 2,
  /** Any client of the metrics can cause them. */
  tokenReviews: 4,
  /** Each keeps its connection for minutes. */
  watches: Number.POSITIVE_INFINITY,
};

export type Purpose = keyof typeof MAX_CONNECTIONS;

/** A connection can be dead after this silence: a load balancer has lost it, or the API server behind it. */
const SILENCE_MS = 1_000;
/** An idle connection can die silently. The guard reads its settings each second, so one stays open. */
const MAX_IDLE_MS = 5_000;
/** Detects a peer that disappeared silently. Requests have their own timeouts. */
const TCP_KEEP_ALIVE_MS = 15_000;

/**
 * Sends requests over connections that it keeps. What it does while there is no response:
 *
 *   request         1 s of silence, as of a dead connection   a used connection closes
 *   GET             sends it again on a new connection        sends it again on a new connection
 *   list of nodes   nothing: the LiveReader lists again       sends it again on a new connection
 *   others          waits: they may have had an effect        fails
 *
 * It sends a request again only once. The first response counts, because the API server can also be slow. In all these
 * cases it closes the idle connections, which can be dead for the same reason.
 */
export class Transport {
  #tls: AgentOptions | undefined;
  readonly #agents = new Map<Purpose, Agent>();

  async send(options: RequestOptions, body: Buffer | undefined, purpose: Purpose): Promise<IncomingMessage> {
    const createRequest = options.protocol === 'http:' ? httpRequest : httpsRequest;
    const isGet = options.method === 'GET';
    const pending = new Set<ClientRequest>();
    let canSendAgain = isGet;
    return await new Promise((resolve, reject) => {
      const send = (): void => {
        const request = createRequest(isGet ? { ...options, timeout: SILENCE_MS } : options);
        pending.add(request);
        request.on('response', (response) => {
          request.setTimeout(0);
          canSendAgain = false;
          pending.delete(request);
          for (const slower of pending) slower.destroy();
          resolve(response);
        });
        request.on('timeout', () => sendAgain(purpose !== 'nodeLists'));
        request.on('error', (error) => {
          pending.delete(request);
          if (request.reusedSocket && options.signal?.aborted !== true) sendAgain(true);
          if (pending.size > 0) return;
          const address = `${options.hostname}:${options.port}`;
          reject(new ApiUnreachable(`${address} cannot be reached: ${describeError(error)}`, { cause: error }));
        });
        request.end(body);
      };
      const sendAgain = (isAllowed: boolean): void => {
        if (!canSendAgain) return;
        this.#closeIdleConnections();
        if (!isAllowed) return;
        canSendAgain = false;
        send();
      };
      send();
    });
  }

  /** Keeps the agents until the TLS material changes. Open requests of the old agents finish. */
  agentFor({ ca, cert, key, servername, rejectUnauthorized }: AgentOptions, purpose: Purpose): Agent {
    const tls = { ca, cert, key, servername, rejectUnauthorized };
    if (!isDeepStrictEqual(this.#tls, tls)) this.#agents.clear();
    this.#tls = tls;
    const maxSockets = MAX_CONNECTIONS[purpose];
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
