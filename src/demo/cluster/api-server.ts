import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { KeyPair } from '../../certificates/key-pair.ts';
import type { Caller } from './admission.ts';
import { AuditAnnotations, type AuditLog } from './audit.ts';
import { ContinueToken } from './continue-token.ts';
import { deleteOptions, isDryRun } from './delete-options.ts';
import { directoryAt } from './directory.ts';
import type { Connections, Fault, Faults } from './faults.ts';
import type { Kind } from './kinds.ts';
import type { NamedTarget, Registry } from './registry.ts';
import { negotiate, shown, shownList } from './representation.ts';
import { selectorFrom } from './selector.ts';
import { badRequest, expired, internalError, StatusError, success, tooLarge } from './status-error.ts';
import type { Store } from './store.ts';
import { type Target, targetOf } from './target.ts';
import type { Tokens } from './tokens.ts';
import type { Watches } from './watches.ts';

/** What the API server is made of. */
export interface ApiServerParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly watches: Watches;
  readonly audit: AuditLog;
  readonly tokens: Tokens;
  readonly serving: KeyPair;
  /** Is this kind there at this version? Its definition may not be installed. */
  readonly serves: (kind: Kind, version: string) => boolean;
}

/** kube-apiserver's own limit of a request body (k8s.io/apiserver, server/config.go). */
const BODY_MAX = 3 * 1024 * 1024;
/** How long a watch stays open where the client does not say. The real one picks 30 to 60 minutes. */
const WATCH_SECONDS = 1800;
const HOST = '127.0.0.1';

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly target: Target;
  readonly caller: Caller;
  readonly faults: readonly Fault[];
}

interface Answer {
  readonly code: number;
  readonly body: unknown;
}

/** Serves the store over HTTPS as kube-apiserver does, as far as the guard and its tests can tell. */
export class ApiServer implements Connections {
  readonly #parts: ApiServerParts;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #faults: Faults | undefined;
  #port = 0;

  constructor(parts: ApiServerParts) {
    this.#parts = parts;
    this.#server = createServer(
      {
        key: parts.serving.privateKeyPem,
        cert: parts.serving.certificatePem,
        minVersion: 'TLSv1.2',
        // A client's connection is kept for as long as the client likes, as Go's server does.
        keepAliveTimeout: 0,
        requestTimeout: 0,
      },
      (request, response) => {
        void this.#serve(request, response);
      },
    );
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  /** Address of the server, without a slash at its end. */
  get url(): string {
    return `https://${HOST}:${this.#port}`;
  }

  /** Listens on a free port, where `faults` can get at the requests. */
  async start(faults: Faults): Promise<void> {
    this.#faults = faults;
    await this.accept();
  }

  /** Cuts every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Stops listening and cuts every connection. */
  async refuse(): Promise<void> {
    if (!this.#server.listening) return;
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
      this.cut();
    });
  }

  /** Listens, on the same port as before. */
  async accept(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, HOST, () => {
        this.#server.removeListener('error', reject);
        resolve();
      });
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const watch = isWatch(url);
    const seen = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
    };
    const faults = this.#faults?.of({ ...seen, watch }) ?? [];
    for (const fault of faults) {
      if (fault === 'hang') return;
      if (fault === 'reset') {
        request.socket.destroy();
        return;
      }
      if (typeof fault === 'object' && 'delayMs' in fault) await delay(fault.delayMs);
      if (typeof fault === 'object' && 'status' in fault) {
        sendInstead(response, fault);
        return;
      }
    }
    const caller: Caller = { user: { username: '', groups: [] }, annotations: new AuditAnnotations(), warnings: [] };
    try {
      const user = this.#parts.tokens.userOf(request.headers.authorization);
      if (/^\/(?:livez|readyz|healthz)$/.test(url.pathname)) {
        response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('ok');
        return;
      }
      const directory = directoryAt(url.pathname, this.#parts.serves);
      if (directory !== undefined) {
        send(response, { code: 200, body: directory }, faults);
        return;
      }
      const target = targetOf(url.pathname);
      if (target === undefined || !this.#parts.serves(target.kind, target.version)) {
        response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
        return;
      }
      await this.#answer({ request, response, url, target, caller: { ...caller, user }, faults });
    } catch (error) {
      const { code, status } = error instanceof StatusError ? error : internalError(String(error));
      send(response, { code, body: status }, []);
    }
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { request, response, target, caller, faults } = exchange;
    const verb = verbOf(exchange);
    const receivedAt = new Date();
    let answer: Answer | undefined;
    try {
      answer = await this.#do(verb, exchange);
    } catch (error) {
      const status = error instanceof StatusError ? error : internalError(String(error));
      answer = { code: status.code, body: status.status };
    }
    const { code = 200, body } = answer ?? {};
    const failure = code >= 400 ? (body as { reason?: string; message?: string }) : undefined;
    this.#parts.audit.write({
      auditID: randomUUID(),
      requestReceivedTimestamp: receivedAt.toISOString(),
      verb,
      requestURI: request.url ?? '',
      user: caller.user,
      userAgent: request.headers['user-agent'] ?? '',
      objectRef: {
        resource: target.kind.resource,
        ...(target.namespace === '' ? {} : { namespace: target.namespace }),
        ...(target.name === undefined ? {} : { name: target.name }),
      },
      responseStatus: {
        code,
        ...(failure?.reason === undefined ? {} : { reason: failure.reason }),
        ...(failure?.message === undefined ? {} : { message: failure.message }),
      },
      annotations: caller.annotations.all,
    });
    if (answer !== undefined) send(response, answer, faults, caller.warnings);
  }

  /** Does what is asked. Undefined where the answer is a stream that has begun. */
  async #do(verb: string, exchange: Exchange): Promise<Answer | undefined> {
    const { request, url, target, caller } = exchange;
    const { registry } = this.#parts;
    const query = url.searchParams;
    if (verb === 'watch') {
      this.#watch(exchange);
      return undefined;
    }
    if (verb === 'list') return { code: 200, body: this.#list(exchange) };
    const named = (): NamedTarget => {
      if (target.name === undefined) throw methodNotAllowed();
      return { ...target, name: target.name };
    };
    const form = negotiate(request.headers.accept, 'object');
    const show = (object: Parameters<typeof shown>[0], code = 200): Answer => {
      return { code, body: shown(object, target.kind, target.version, form) };
    };
    if (verb === 'get') return show(registry.get(named()));
    const body = await jsonBody(request);
    if (verb === 'delete') {
      const one = named();
      // Options are judged before the object is looked for (k8s.io/apiserver, endpoints/handlers/delete.go).
      const options = deleteOptions(query, body);
      const { uid } = registry.get(one).metadata;
      const left = await registry.delete(one, options, caller);
      if (left !== undefined) return show(left);
      const { group, resource } = target.kind;
      return { code: 200, body: success({ name: one.name, ...(group === '' ? {} : { group }), kind: resource, uid }) };
    }
    if (verb === 'deletecollection') {
      const deleted = await registry.deleteCollection(target, selectorFrom(query), deleteOptions(query, body), caller);
      const metadata = { resourceVersion: String(this.#parts.store.version) };
      return { code: 200, body: shownList(deleted, target.kind, target.version, 'full', metadata) };
    }
    const options = { dryRun: isDryRun(query.getAll('dryRun')) };
    if (verb === 'create' && target.name === undefined) return show(registry.create(target, body, options), 201);
    if (verb === 'update') return show(registry.update(named(), body, options));
    if (verb === 'patch') {
      const type = (request.headers['content-type'] ?? '').split(';')[0];
      if (type !== 'application/merge-patch+json') {
        throw new StatusError(415, 'UnsupportedMediaType', 'the sandbox only knows application/merge-patch+json');
      }
      return show(registry.patch(named(), body, options));
    }
    throw methodNotAllowed();
  }

  #list({ request, url, target }: Exchange): unknown {
    const { store } = this.#parts;
    const query = url.searchParams;
    const form = negotiate(request.headers.accept, 'list');
    const wanted = numberOf(query, 'resourceVersion') ?? 0;
    if (wanted > store.version) throw tooLarge(wanted, store.version);
    const page = ContinueToken.parse(query.get('continue'));
    if (page !== undefined && page.version < store.compacted) throw expired(page.version, store.compacted);
    const version = page?.version ?? store.version;
    const all = store
      .list(target.kind, target.namespace)
      .filter(selectorFrom(query))
      .filter(({ metadata }) => page === undefined || page.isBefore(metadata));
    const limit = numberOf(query, 'limit') ?? 0;
    const items = limit > 0 ? all.slice(0, limit) : all;
    const last = items.at(-1);
    const more = all.length - items.length;
    const metadata = {
      resourceVersion: String(version),
      ...(more === 0 || last === undefined
        ? {}
        : { continue: new ContinueToken(version, last.metadata).toString(), remainingItemCount: more }),
    };
    return shownList(items, target.kind, target.version, form, metadata);
  }

  #watch({ request, response, url, target }: Exchange): void {
    const query = url.searchParams;
    if (query.has('sendInitialEvents')) {
      throw new StatusError(
        422,
        'Invalid',
        'sendInitialEvents is forbidden for watch: the sandbox has no streaming lists',
      );
    }
    // "0" and nothing both mean: whatever you have, beginning with everything.
    const from = numberOf(query, 'resourceVersion');
    this.#parts.watches.start(
      {
        target,
        form: negotiate(request.headers.accept, 'watch'),
        selector: selectorFrom(query),
        from: from === 0 ? undefined : from,
        bookmarks: isTrue(query.get('allowWatchBookmarks')),
        timeoutSeconds: numberOf(query, 'timeoutSeconds') ?? WATCH_SECONDS,
      },
      response,
    );
  }
}

function verbOf({ request, url, target }: Exchange): string {
  const collection = target.name === undefined;
  switch (request.method ?? '') {
    case 'GET':
      return isWatch(url) ? 'watch' : collection ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return collection ? 'deletecollection' : 'delete';
    default:
      return '';
  }
}

function isWatch(url: URL): boolean {
  return isTrue(url.searchParams.get('watch'));
}

function isTrue(value: string | null): boolean {
  return value === '1' || value === 'true';
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (!/^\d+$/.test(value)) throw badRequest(`${name}: Invalid value: "${value}"`);
  return Number(value);
}

function methodNotAllowed(): StatusError {
  const message = 'the server does not allow this method on the requested resource';
  return new StatusError(405, 'MethodNotAllowed', message);
}

async function jsonBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > BODY_MAX) throw new StatusError(413, 'RequestEntityTooLarge', `limit is ${BODY_MAX}`);
  }
  if (length === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    throw badRequest('the body of the request is not JSON');
  }
}

function send(
  response: ServerResponse,
  { code, body }: Answer,
  faults: readonly Fault[],
  warnings: readonly string[] = [],
): void {
  const payload = Buffer.from(JSON.stringify(body));
  response.statusCode = code;
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', payload.length);
  if (warnings.length > 0) response.setHeader('warning', warnings.map(warningHeader));
  for (const fault of faults) {
    if (typeof fault !== 'object') continue;
    if ('cutAfterBytes' in fault) {
      // Flushed before the cut, so that the client really sees a part of the answer.
      response.write(payload.subarray(0, fault.cutAfterBytes), () => response.socket?.destroy());
      return;
    }
    if ('stallAfterBytes' in fault) {
      response.write(payload.subarray(0, fault.stallAfterBytes));
      return;
    }
  }
  response.end(payload);
}

/** 299 is "miscellaneous persistent warning"; kube-apiserver sends no agent (k8s.io/apimachinery, util/net/http.go). */
function warningHeader(text: string): string {
  return `299 - "${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function sendInstead(response: ServerResponse, fault: Extract<Fault, { readonly status: number }>): void {
  const { status, headers = {}, body = '' } = fault;
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json', ...headers });
  response.end(isText ? body : JSON.stringify(body));
}

async function delay(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
