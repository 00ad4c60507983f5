import { Agent, type AgentOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';

/** More requests wait for a connection. All requests that can hang at the same time need fewer. */
const MAX_CONNECTIONS = 32;
/** Few connections stay open without requests, because they can die silently. */
const MAX_IDLE_CONNECTIONS = 4;
/** Closing the others at once would open many connections during a burst of requests. */
const MAX_IDLE_MS = 5_000;
/** Detects a peer that disappeared silently. Requests have their own timeouts. */
const TCP_KEEP_ALIVE_MS = 15_000;

interface Agents {
  readonly tls: AgentOptions;
  readonly requests: Agent;
  readonly watches: Agent;
}

/** The connections to one API server. Watches have no limit, because each keeps its connection for minutes. */
export class ConnectionPool {
  #agents: Agents | undefined;

  /** Keeps the agents until the TLS material changes. Open requests of the old agents finish. */
  agentFor(
    { ca, cert, key, servername, rejectUnauthorized }: AgentOptions,
    { isWatch }: { readonly isWatch: boolean },
  ): Agent {
    const tls = Object.fromEntries(
      Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(([, value]) => value !== undefined),
    ) as AgentOptions;
    if (this.#agents === undefined || !isDeepStrictEqual(this.#agents.tls, tls)) {
      const options = { keepAlive: true, keepAliveMsecs: TCP_KEEP_ALIVE_MS, ...tls };
      const requests = new Agent({ ...options, maxSockets: MAX_CONNECTIONS });
      const idleTimer = setTimeout(() => {
        closeIdle(requests, MAX_IDLE_CONNECTIONS);
      }, MAX_IDLE_MS).unref();
      requests.on('free', () => {
        idleTimer.refresh();
      });
      this.#agents = { tls, requests, watches: new Agent(options) };
    }
    return isWatch ? this.#agents.watches : this.#agents.requests;
  }

  closeIdleConnections(): void {
    if (this.#agents === undefined) return;
    closeIdle(this.#agents.requests);
    closeIdle(this.#agents.watches);
  }

  close(): void {
    this.#agents?.requests.destroy();
    this.#agents?.watches.destroy();
    this.#agents = undefined;
  }
}

/** Keeps the connections that were used last. */
function closeIdle({ freeSockets }: Agent, keptCount = 0): void {
  for (const sockets of Object.values(freeSockets)) {
    for (const socket of sockets?.toReversed().slice(keptCount) ?? []) socket.destroy();
  }
}
