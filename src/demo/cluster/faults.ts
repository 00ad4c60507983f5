import type { IncomingHttpHeaders } from 'node:http';
import type { Snapshot, Store } from './store.ts';
import type { Watches } from './watches.ts';

/** A request as an interceptor sees it, before the API server has looked at it. */
export interface SeenRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly watch: boolean;
}

/**
 * What happens to a request:
 * - `pass`: nothing; the next interceptor is asked, and at last the API server.
 * - `reset`: its connection is cut without an answer.
 * - `hang`: it is never answered.
 * - `delayMs`: it waits, and then goes on as with `pass`.
 * - `status`: it gets this answer instead. An object as body is sent as JSON, a string as plain text.
 * - `cutAfterBytes`: it is answered, but the connection is cut after so many bytes of the body.
 * - `stallAfterBytes`: the same, but then nothing more comes.
 */
export type Fault =
  | 'pass'
  | 'reset'
  | 'hang'
  | { readonly delayMs: number }
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Readonly<Record<string, unknown>>;
    }
  | { readonly cutAfterBytes: number }
  | { readonly stallAfterBytes: number };

/** Decides about each request. */
export type Interceptor = (request: SeenRequest) => Fault;

/** The connections of the API server. */
export interface Connections {
  cut(): void;
  refuse(): Promise<void>;
  accept(): Promise<void>;
}

/** Everything that can go wrong with an API server, at will. */
export class Faults {
  readonly #store: Store;
  readonly #watches: Watches;
  readonly #connections: Connections;
  readonly #interceptors = new Set<Interceptor>();

  constructor(store: Store, watches: Watches, connections: Connections) {
    this.#store = store;
    this.#watches = watches;
    this.#connections = connections;
  }

  /** Lets a function decide about each request from now on. Returns what takes it away again. */
  intercept(interceptor: Interceptor): () => void {
    this.#interceptors.add(interceptor);
    return () => {
      this.#interceptors.delete(interceptor);
    };
  }

  /** Takes every interceptor away and lets watches go on. */
  clear(): void {
    this.#interceptors.clear();
    this.#watches.thaw();
  }

  /** What the interceptors make of a request, in the order in which they were added, delays included. */
  of(request: SeenRequest): Fault[] {
    return [...this.#interceptors].map((interceptor) => interceptor(request)).filter((fault) => fault !== 'pass');
  }

  /** Cuts every open connection, as a restart of a load balancer does. New ones are accepted. */
  cutConnections(): void {
    this.#connections.cut();
  }

  /** The API server goes down: connections are cut, and new ones refused until {@link comeUp}. */
  async goDown(): Promise<void> {
    await this.#connections.refuse();
  }

  /** It is back at the same address. */
  async comeUp(): Promise<void> {
    await this.#connections.accept();
  }

  /** Cuts the connections of all watches and no others. */
  dropWatches(): void {
    this.#watches.drop();
  }

  /** Watches stay open and say nothing, not even bookmarks: what a peer that vanished looks like. */
  freezeWatches(): void {
    this.#watches.freeze();
  }

  /** Frozen watches go on, with what they missed. */
  thawWatches(): void {
    this.#watches.thaw();
  }

  /** Sends every open watch the event that its version is gone (410 Expired). */
  expireWatches(): void {
    this.#watches.expire();
  }

  /** Forgets the history: who comes back with an older version gets 410 Expired. Open watches go on. */
  compact(): void {
    this.#store.compact();
  }

  /** A backup of everything, for {@link restore}. */
  snapshot(): Snapshot {
    return this.#store.snapshot();
  }

  /**
   * Puts a backup of etcd back: objects and versions are as they were, and open watches, being ahead of the store now, hear
   * nothing of what follows until it has caught up with them.
   */
  restore(snapshot: Snapshot): void {
    this.#store.restore(snapshot);
  }
}
