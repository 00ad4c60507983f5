import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type Kind, KINDS, parseResourcePath, toApiVersion } from './in-memory-cluster/kinds.ts';

export interface SeenRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly isWatch: boolean;
}

/**
 * What happens to a request:
 * - `pass`: the next interceptor decides, and in the end the API server answers.
 * - `reset`: its connection is cut without an answer.
 * - `hang`: it is never answered.
 * - `status`: it is answered like this. An object is sent as JSON, a string as plain text.
 * - a function: it answers.
 */
export type Fault =
  | 'pass'
  | 'reset'
  | 'hang'
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Readonly<Record<string, unknown>>;
    }
  | ((response: ServerResponse) => void);

export type Interceptor = (request: SeenRequest) => Fault;

export class Faults {
  readonly requests: SeenRequest[] = [];
  /** The kinds whose CRDs exist. By default each has its preferred version. */
  readonly servedVersions = new Map<Kind, readonly string[]>(KINDS.map((kind) => [kind, kind.versions.slice(0, 1)]));
  /** The responses of all open watches. */
  readonly watches = new Set<ServerResponse>();
  readonly #interceptors = new Set<Interceptor>();
  readonly #revokedTokens = new Set<string | undefined>();

  /** Adds an interceptor and returns the function that removes it. */
  intercept(interceptor: Interceptor): () => void {
    this.#interceptors.add(interceptor);
    return () => {
      this.#interceptors.delete(interceptor);
    };
  }

  clear() {
    this.#interceptors.clear();
  }

  /** Rejects the tokens that were used so far. */
  revokeTokens() {
    for (const { headers } of this.requests) this.#revokedTokens.add(headers.authorization);
  }

  /** Sees a request before the API server. Returns whether it was answered. */
  apply(request: IncomingMessage, response: ServerResponse) {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'https://cluster');
    const { method = '', headers } = request;
    const isWatch = query.has('watch');
    const seen = { method, path, query, headers, isWatch };
    this.requests.push(seen);
    // Every interceptor sees every request.
    const faults = [...this.#interceptors].map((interceptor) => interceptor(seen));
    const fault = faults.find((candidate) => candidate !== 'pass');
    if (fault !== undefined) return answerWith(fault, response);
    if (this.#revokedTokens.has(headers.authorization)) return answerWith({ status: 401 }, response);
    const answer = this.#discover(path);
    if (answer !== undefined) return answerWith(answer, response);
    if (isWatch) {
      this.watches.add(response);
      response.once('close', () => this.watches.delete(response));
    }
    return false;
  }

  /** Answers discovery, and 404 to other requests for a kind without a CRD. */
  #discover(path: string): Exclude<Fault, 'pass'> | undefined {
    const served = [...this.servedVersions].flatMap(([kind, versions]) =>
      versions.map((version) => ({ kind, version })),
    );
    if (path === '/apis') {
      const groups = served.map(({ kind, version }) => ({ name: kind.group, versions: [{ version }] }));
      return { status: 200, body: { kind: 'APIGroupList', groups } };
    }
    const [, groupVersion] = /^\/apis\/(?<groupVersion>[^/]+\/[^/]+)$/.exec(path) ?? [];
    const target = parseResourcePath(path);
    if (groupVersion === undefined) {
      const isServed = target === undefined || this.servedVersions.get(target.kind)?.includes(target.version) === true;
      return isServed ? undefined : NOT_FOUND;
    }
    const resources = served
      .filter(({ kind, version }) => toApiVersion(kind, version) === groupVersion)
      .map(({ kind }) => ({ name: kind.resource }));
    return resources.length === 0 ? NOT_FOUND : { status: 200, body: { kind: 'APIResourceList', resources } };
  }
}

const NOT_FOUND = { status: 404, body: '404 page not found\n' };

function answerWith(fault: Exclude<Fault, 'pass'>, response: ServerResponse) {
  if (fault === 'reset') response.destroy();
  else if (typeof fault === 'function') fault(response);
  else if (fault !== 'hang') {
    const { status, headers = {}, body = '' } = fault;
    const isText = typeof body === 'string';
    response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers });
    response.end(isText ? body : JSON.stringify(body));
  }
  return true;
}
