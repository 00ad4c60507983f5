import { Agent, request, type RequestOptions } from 'node:https';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };
export type JsonObject = { readonly [key: string]: Json | undefined };

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly JsonObject[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: object;
  readonly status?: object;
}

/** What the API server says when it refuses, and after a deletion. */
export interface Status {
  readonly kind: 'Status';
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
}

export interface KubeResponse {
  readonly status: number;
  /** Parsed where it is JSON, else the text. */
  readonly body: unknown;
  /** Texts of the Warning headers: what kubectl prints after "Warning:". */
  readonly warnings: readonly string[];
  /** Names this request in the audit log. */
  readonly auditId: string;
  /** Did it come over a connection that was open already? */
  readonly reused: boolean;
  readonly ms: number;
}

export interface KubeClientOptions {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  /** PEM of a client certificate and its key. */
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
  readonly userAgent?: string;
}

export interface RequestExtras {
  readonly query?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly timeoutMs?: number;
}

const REQUEST_TIMEOUT_MS = 40_000; // > the 34 s to which the API server bounds a DELETE

/** A thin client: it shows status, warnings and audit id, which the comfortable ones hide. */
export class KubeClient {
  readonly #options: KubeClientOptions;
  readonly #agent: Agent;

  constructor(options: KubeClientOptions) {
    this.#options = options;
    const { ca, certificate, key } = options;
    this.#agent = new Agent({ ca, keepAlive: true, ...(certificate && key ? { cert: certificate, key } : {}) });
  }

  request(method: string, path: string, body?: object, extras: RequestExtras = {}): Promise<KubeResponse> {
    const url = new URL(path, this.#options.url);
    for (const [key, value] of Object.entries(extras.query ?? {})) url.searchParams.set(key, value);
    const { token, userAgent } = this.#options;
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const options: RequestOptions = {
      method,
      agent: this.#agent,
      headers: {
        accept: 'application/json',
        'user-agent': userAgent ?? 'machineconfig-guard-e2e',
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(payload === undefined
          ? {}
          : {
              'content-type': extras.contentType ?? 'application/json',
              'content-length': Buffer.byteLength(payload),
            }),
      },
    };
    const started = performance.now();
    return new Promise((resolve, reject) => {
      const outgoing = request(url, options, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.once('error', reject);
        incoming.once('end', () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = incoming.headers['content-type']?.includes('json') === true;
          resolve({
            status: incoming.statusCode ?? 0,
            body: isJson ? JSON.parse(text) : text,
            warnings: (incoming.headersDistinct['warning'] ?? []).map(warningText),
            auditId: headerText(incoming.headers['audit-id']),
            reused: outgoing.reusedSocket,
            ms: performance.now() - started,
          });
        });
      });
      outgoing.setTimeout(extras.timeoutMs ?? REQUEST_TIMEOUT_MS, () => {
        outgoing.destroy(new Error(`${method} ${url.href}: no answer in time`));
      });
      outgoing.once('error', reject);
      outgoing.end(payload);
    });
  }

  /** The object, or undefined where there is none; throws on any other answer. */
  async find(path: string): Promise<KubeObject | undefined> {
    const response = await this.request('GET', path);
    if (response.status === 404) return undefined;
    return objectOf(expectStatus(response, [200], `GET ${path}`));
  }

  async list(path: string, query: Readonly<Record<string, string>> = {}): Promise<readonly KubeObject[]> {
    const response = expectStatus(await this.request('GET', path, undefined, { query }), [200], `GET ${path}`);
    return (response.body as { readonly items: readonly KubeObject[] | null }).items ?? [];
  }

  async create(collection: string, object: object): Promise<KubeObject> {
    const response = await this.request('POST', collection, object);
    return objectOf(expectStatus(response, [200, 201], `POST ${collection}`));
  }

  /** A JSON merge patch. */
  async patch(path: string, patch: object): Promise<KubeObject> {
    const response = await this.request('PATCH', path, patch, { contentType: 'application/merge-patch+json' });
    return objectOf(expectStatus(response, [200], `PATCH ${path}`));
  }

  /** Answers rather than throws: a refusal is what most tests are after. */
  delete(path: string, query: Readonly<Record<string, string>> = {}, options?: object): Promise<KubeResponse> {
    return this.request('DELETE', path, options, { query });
  }

  /** Whether a health endpoint answers 200; false also where nobody listens. */
  async isReady(path: string): Promise<boolean> {
    try {
      return (await this.request('GET', path, undefined, { timeoutMs: 2_000 })).status === 200;
    } catch {
      return false;
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The Status in a response's body. */
export function statusOf(response: KubeResponse): Status {
  return response.body as Status;
}

/** The object in a response's body. */
export function objectOf(response: KubeResponse): KubeObject {
  return response.body as KubeObject;
}

/** The response, where its status is one of those; throws with the API server's own message otherwise. */
export function expectStatus(response: KubeResponse, allowed: readonly number[], what: string): KubeResponse {
  if (allowed.includes(response.status)) return response;
  const message = typeof response.body === 'string' ? response.body : statusOf(response).message;
  throw new Error(`${what} was answered with ${response.status}: ${message ?? JSON.stringify(response.body)}`);
}

/** The text of a Warning header, `299 - "text"`. Node hands headers over as Latin-1; this one is UTF-8. */
function warningText(header: string): string {
  const utf8 = Buffer.from(header, 'latin1').toString();
  return /^\d+ \S+ "(.*)"$/s.exec(utf8)?.[1]?.replaceAll(/\\(.)/gs, '$1') ?? utf8;
}

function headerText(header: string | string[] | undefined): string {
  return Array.isArray(header) ? header.join(',') : (header ?? '');
}
