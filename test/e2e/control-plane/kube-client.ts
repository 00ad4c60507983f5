import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';

/** A rule of a role. */
export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?: readonly object[] | undefined;
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: object;
  readonly status?: object;
  /** Of a ConfigMap or a Secret. */
  readonly data?: Readonly<Record<string, string>>;
  /** Of a role. */
  readonly rules?: readonly Rule[];
  /** Of a webhook configuration. */
  readonly webhooks?: readonly {
    readonly failurePolicy: string;
    readonly clientConfig: { readonly caBundle?: string };
  }[];
}

/** The body of an error, and of the answer to a deletion. */
export interface Status {
  readonly message?: string;
  readonly reason?: string;
}

export interface KubeResponse {
  readonly status: number;
  /** The parsed JSON, or the text if the response is not JSON. */
  readonly body: unknown;
  /** Texts of the Warning headers, as kubectl prints them after "Warning:". */
  readonly warnings: readonly string[];
  /** Identifies the request in the audit log. */
  readonly auditId: string;
  readonly ms: number;
}

export interface KubeClientOptions {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  /** The DNS name in the server's certificate, if it is not the host of the URL. */
  readonly servername?: string;
  readonly token?: string;
  /** The API server takes this user for the client. The client needs the right to impersonate. */
  readonly impersonate?: { readonly user: string; readonly groups: readonly string[] };
}

type Query = Readonly<Record<string, string>>;

interface RequestExtras {
  readonly query?: Query;
  /** By default, an array is a JSON patch, and another patch is a JSON merge patch. */
  readonly contentType?: string;
  readonly accept?: string;
  readonly timeoutMs?: number;
}

/** Less than the 90 s after which API servers close idle connections, perhaps while the next request is on its way. */
const IDLE_MS = 45_000;
/** Longer than the 34 s to which the API server limits a DELETE. */
const REQUEST_TIMEOUT_MS = 40_000;

/** A thin client. It exposes status, warnings and audit ID, which comfortable clients hide. */
export class KubeClient {
  readonly connection: KubeClientOptions;
  readonly #agent: Agent;

  constructor(connection: KubeClientOptions) {
    this.connection = connection;
    const { ca, servername } = connection;
    this.#agent = new Agent({ ca, keepAlive: true, timeout: IDLE_MS, ...(servername && { servername }) });
  }

  async request(method: string, path: string, body?: object, extras: RequestExtras = {}): Promise<KubeResponse> {
    const url = new URL(path, this.connection.url);
    for (const [key, value] of Object.entries(extras.query ?? {})) url.searchParams.set(key, value);
    const contentType = body && (extras.contentType ?? contentTypeOf(method, body));
    const payload = body && JSON.stringify(body);
    const headers = {
      ...this.#headers(contentType),
      ...(extras.accept && { accept: extras.accept }),
      // By default, Node sends the body of a DELETE without its length.
      ...(payload && { 'content-length': Buffer.byteLength(payload) }),
    };
    const started = performance.now();
    const outgoing = request(url, { method, agent: this.#agent, headers });
    outgoing.setTimeout(extras.timeoutMs ?? REQUEST_TIMEOUT_MS, () => {
      outgoing.destroy(new Error(`${method} ${url.href}: no answer in time`));
    });
    // After the response, a failure of the connection reaches its reader.
    outgoing.on('error', () => undefined).end(payload);
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const content = await text(incoming);
    const isJson = incoming.headers['content-type']?.includes('json') === true;
    return {
      status: incoming.statusCode ?? 0,
      body: isJson ? JSON.parse(content) : content,
      warnings: (incoming.headersDistinct['warning'] ?? []).map(parseWarning),
      auditId: String(incoming.headers['audit-id'] ?? ''),
      ms: performance.now() - started,
    };
  }

  /** @throws Error if the response is neither 200 nor 404 */
  async find(path: string): Promise<KubeObject | undefined> {
    const response = await this.request('GET', path);
    if (response.status === 404) return undefined;
    return expectStatus(response, [200], `GET ${path}`).body as KubeObject;
  }

  async list(path: string, query: Query = {}) {
    const response = await this.request('GET', path, undefined, { query });
    const { body } = expectStatus(response, [200], `GET ${path}`);
    return (body as { items: readonly KubeObject[] }).items;
  }

  async create(collection: string, object: object) {
    const response = await this.request('POST', collection, object);
    return expectStatus(response, [200, 201], `POST ${collection}`).body as KubeObject;
  }

  async patch(path: string, patch: object) {
    const response = await this.request('PATCH', path, patch);
    return expectStatus(response, [200], `PATCH ${path}`).body as KubeObject;
  }

  /** Returns every response, denials included: most tests expect one. */
  delete(path: string, query: Query = {}): Promise<KubeResponse> {
    return this.request('DELETE', path, undefined, { query });
  }

  /** Whether a health endpoint returns 200; false also if the port is closed. */
  async isReady(path: string) {
    const response = this.request('GET', path, undefined, { timeoutMs: 2_000 });
    return (await response.catch(() => undefined))?.status === 200;
  }

  #headers(contentType: string | undefined) {
    const { token, impersonate } = this.connection;
    return {
      accept: 'application/json',
      'user-agent': 'machineconfig-guard-e2e',
      ...(token && { authorization: `Bearer ${token}` }),
      ...(contentType && { 'content-type': contentType }),
      ...(impersonate && {
        'impersonate-user': impersonate.user,
        'impersonate-group': [...impersonate.groups],
      }),
    };
  }
}

function contentTypeOf(method: string, body: object): string {
  if (method !== 'PATCH') return 'application/json';
  return Array.isArray(body) ? 'application/json-patch+json' : 'application/merge-patch+json';
}

/** The Status in the body of a response. */
export function statusOf(response: KubeResponse): Status {
  return response.body as Status;
}

/** @throws Error with the body of the response if its status is not allowed */
export function expectStatus(response: KubeResponse, allowed: readonly number[], what: string): KubeResponse {
  if (allowed.includes(response.status)) return response;
  throw new Error(`${what} was answered with ${response.status}: ${JSON.stringify(response.body)}`);
}

/** The text of a Warning header, `299 - "text"`. Node decodes headers as Latin-1, but this one is UTF-8. */
function parseWarning(header: string) {
  const utf8 = Buffer.from(header, 'latin1').toString();
  return /^\d+ \S+ "(.*)"$/s.exec(utf8)?.[1]?.replaceAll(/\\(.)/gs, '$1') ?? utf8;
}
