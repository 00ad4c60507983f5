import type { ServerResponse } from 'node:http';
import { bookmark, type Form, shown } from './representation.ts';
import type { Selector } from './selector.ts';
import { expired, type Status } from './status-error.ts';
import type { Store } from './store.ts';
import type { Target } from './target.ts';

/** What a client wants to watch. */
export interface WatchRequest {
  readonly target: Target;
  readonly form: Form;
  readonly selector: Selector;
  /** Undefined: begin with everything there is, as if it had just been added. */
  readonly from: number | undefined;
  readonly bookmarks: boolean;
  /** How long the server keeps it open, in seconds. */
  readonly timeoutSeconds: number;
}

/** The open watches of the API server, and what can happen to all of them at once. */
export class Watches {
  readonly #store: Store;
  readonly #bookmarkMs: number;
  readonly #open = new Set<Watch>();
  #frozen = false;

  /** @param bookmarkMs how often a watch that asked for it gets a bookmark, in milliseconds */
  constructor(store: Store, bookmarkMs: number) {
    this.#store = store;
    this.#bookmarkMs = bookmarkMs;
    store.onChange(() => {
      this.#pump();
    });
  }

  /** How many are open. */
  get count(): number {
    return this.#open.size;
  }

  /** Begins to stream to a response. The status line is sent at once: a client may wait for it. */
  start(request: WatchRequest, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const watch = new Watch(this.#store, request, response);
    this.#open.add(watch);
    const timers = [
      setTimeout(() => {
        watch.end();
      }, request.timeoutSeconds * 1000),
      ...(request.bookmarks
        ? [
            setInterval(() => {
              if (!this.#frozen) watch.bookmark();
            }, this.#bookmarkMs),
          ]
        : []),
    ];
    for (const timer of timers) timer.unref();
    response.on('close', () => {
      for (const timer of timers) clearTimeout(timer);
      this.#open.delete(watch);
    });
    if (!this.#frozen) watch.pump();
  }

  /** Cuts the connection of every watch. */
  drop(): void {
    for (const watch of this.#open) watch.cut();
  }

  /** Ends every watch with the error that its version is gone. */
  expire(): void {
    for (const watch of this.#open) watch.fail(expired(watch.position, this.#store.version).status);
  }

  /** Watches, also new ones, stay open and say nothing. */
  freeze(): void {
    this.#frozen = true;
  }

  /** Watches go on, with what they missed. */
  thaw(): void {
    this.#frozen = false;
    this.#pump();
  }

  #pump(): void {
    if (this.#frozen) return;
    for (const watch of this.#open) watch.pump();
  }
}

class Watch {
  /** Everything up to this version has been sent, or was there before the watch began. */
  position: number;
  readonly #store: Store;
  readonly #request: WatchRequest;
  readonly #response: ServerResponse;

  constructor(store: Store, request: WatchRequest, response: ServerResponse) {
    this.#store = store;
    this.#request = request;
    this.#response = response;
    this.position = request.from ?? store.version;
    if (request.from !== undefined) return;
    const { kind, namespace } = request.target;
    for (const object of store.list(kind, namespace).filter(request.selector)) this.#send('ADDED', this.#shown(object));
  }

  /** Sends what has changed since the last time. */
  pump(): void {
    const changes = this.#store.changesAfter(this.position);
    if (changes === undefined) {
      this.fail(expired(this.position, this.#store.compacted).status);
      return;
    }
    const { target, selector } = this.#request;
    for (const { version, type, kind, object } of changes) {
      this.position = version;
      if (kind !== target.kind) continue;
      if (target.namespace !== '' && object.metadata.namespace !== target.namespace) continue;
      if (selector(object)) this.#send(type, this.#shown(object));
    }
  }

  bookmark(): void {
    const { target, form } = this.#request;
    // After a restore the store is behind this watch; a real cache would not know of anything newer either.
    this.#send('BOOKMARK', bookmark(target.kind, target.version, form, this.position));
  }

  fail(status: Status): void {
    this.#send('ERROR', status);
    this.end();
  }

  end(): void {
    this.#response.end();
  }

  cut(): void {
    this.#response.destroy();
  }

  #shown(object: Parameters<typeof shown>[0]): unknown {
    const { target, form } = this.#request;
    return shown(object, target.kind, target.version, form);
  }

  #send(type: string, object: unknown): void {
    if (!this.#response.writableEnded) this.#response.write(`${JSON.stringify({ type, object })}\n`);
  }
}
