import { Agent, type AgentOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';

/** More requests wait for a connection. All hanging live reads, lists and writes together need fewer. */
const MAX_CONNECTIONS = 32;
/** A connection that was idle can be dead, so few are kept. */
const MAX_IDLE_CONNECTIONS = 4;
/** Detects a peer that disappeared silently. Requests have their own timeouts. */
const TCP_KEEP_ALIVE_MS = 15_000;

interface Agents {
  readonly tls: AgentOptions;
  readonly requests: Agent;
  readonly watches: Agent;
}

/** The connections to one API server. Watches do not count, because each keeps its connection for minutes. */
export class ConnectionPool {
  #agents: Agents | undefined;

  /** Keeps the agents until the TLS material changes. Open requests of the old agents finish. */
  agentFor(
    { ca, cert, key, servername, rejectUnauthorized }: AgentOptions,
    { isWatch }: { readonly isWatch: boolean },
  ): Agent {
    const tls = Object.fromEntries(
      Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(
        ([, value]) => value !== undefined,
      ),
    ) as AgentOptions;
    if (this.#agents === undefined || !isDeepStrictEqual(this.#agents.tls, tls)) {
      const options = { keepAlive: true, keepAliveMsecs: TCP_KEEP_ALIVE_MS, ...tls };
      const limits = { maxSockets: MAX_CONNECTIONS, maxFreeSockets: MAX_IDLE_CONNECTIONS };
      this.#agents = { tls, requests: new Agent({ ...options, ...limits }), watches: new Agent(options) };
    }
    return isWatch ? this.#agents.watches : this.#agents.requests;
  }

  closeIdleConnections(): void {
    for (const agent of [this.#agents?.requests, this.#agents?.watches])
      for (const socket of Object.values(agent?.freeSockets ?? {}).flat()) socket?.destroy();
  }

  close(): void {
    this.#agents?.requests.destroy();
    this.#agents?.watches.destroy();
    this.#agents = undefined;
  }
}
