import { Agent, type AgentOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';

/** More requests wait for a connection. All requests that can hang at the same time need fewer. */
const MAX_CONNECTIONS = 32;
/** An idle connection can die silently. The guard reads its settings each second, so one stays open. */
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
  agentFor({ ca, cert, key, servername, rejectUnauthorized }: AgentOptions, isWatch: boolean): Agent {
    const tls = Object.fromEntries(
      Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(([, value]) => value !== undefined),
    ) as AgentOptions;
    if (this.#agents === undefined || !isDeepStrictEqual(this.#agents.tls, tls)) {
      const options = { keepAlive: true, keepAliveMsecs: TCP_KEEP_ALIVE_MS, ...tls };
      const requests = new Agent({ ...options, maxSockets: MAX_CONNECTIONS, timeout: MAX_IDLE_MS });
      this.#agents = { tls, requests, watches: new Agent(options) };
    }
    return isWatch ? this.#agents.watches : this.#agents.requests;
  }

  closeIdleConnections(): void {
    if (this.#agents === undefined) return;
    for (const { freeSockets } of [this.#agents.requests, this.#agents.watches]) {
      for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
    }
  }

  close(): void {
    this.#agents?.requests.destroy();
    this.#agents?.watches.destroy();
    this.#agents = undefined;
  }
}
