import { type Authority, createAuthority } from '../../certificates/authority.ts';
import { issueLeaf } from '../../certificates/leaf.ts';
import { Admission } from './admission.ts';
import { ApiServer } from './api-server.ts';
import { AuditLog } from './audit.ts';
import { type Answer, HttpClient } from './http-client.ts';
import { Faults } from './faults.ts';
import { kubeconfig } from './kubeconfig.ts';
import type { KubeObject, NewObject } from './kube-object.ts';
import { kindOf, KINDS } from './kinds.ts';
import { Registry } from './registry.ts';
import { Store } from './store.ts';
import { pathOf } from './target.ts';
import { Tokens } from './tokens.ts';
import { ADMIN, type User } from './user.ts';
import { Watches } from './watches.ts';
import { type ServiceResolver, WebhookCaller } from './webhook-caller.ts';

/** How a sandbox may differ from the usual one. */
export interface InMemoryClusterOptions {
  /** May requests come without a token? Default: no. */
  readonly anonymous?: boolean;
  /** How often watches get a bookmark, in milliseconds. Default 60,000, about what kube-apiserver does. */
  readonly bookmarkMs?: number;
  /** Signs the API server's certificate. Default: a new one, which takes a second to make. */
  readonly authority?: Authority;
  /** Where webhooks that are registered with a Service really listen. Default: nowhere. */
  readonly resolveService?: ServiceResolver;
}

/** Who sends a request, and how. */
export interface SendOptions {
  /** User name; default `system:admin`. */
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The sandbox lives for minutes; a certificate that outlives it does no harm. */
const CERTIFICATE_DAYS = 1;

/**
 * A cluster in memory: an API server that speaks enough of the Kubernetes API for the guard, and calls it as kube-apiserver
 * does. `create`, `patch`, `get`, `list` and `erase` work on the store directly; {@link InMemoryCluster.request} goes through HTTPS,
 * authentication, admission and the audit log.
 */
export class InMemoryCluster {
  /** The audit log. */
  readonly audit: AuditLog;
  /** What can go wrong. */
  readonly faults: Faults;
  /** Tokens: issue one for a user, revoke it. */
  readonly tokens: Tokens;
  readonly #store: Store;
  readonly #registry: Registry;
  readonly #server: ApiServer;
  readonly #webhooks: WebhookCaller;
  readonly #client: HttpClient;
  readonly #watches: Watches;
  readonly #caPem: string;
  readonly #adminToken: string;
  readonly #userTokens = new Map<string, string>();
  readonly #served: Map<string, readonly string[]>;

  constructor(
    options: InMemoryClusterOptions,
    pki: { readonly caPem: string; readonly serving: ConstructorParameters<typeof ApiServer>[0]['serving'] },
  ) {
    this.#store = new Store();
    this.#webhooks = new WebhookCaller(options.resolveService ?? (() => undefined));
    this.#registry = new Registry(this.#store, new Admission(this.#store, this.#webhooks));
    this.#watches = new Watches(this.#store, options.bookmarkMs ?? 60_000);
    this.audit = new AuditLog();
    this.tokens = new Tokens(options.anonymous ?? false);
    this.#adminToken = this.tokens.issue(ADMIN);
    this.#served = new Map(KINDS.map(({ resource, versions }) => [resource, versions.slice(0, 1)]));
    this.#server = new ApiServer({
      store: this.#store,
      registry: this.#registry,
      watches: this.#watches,
      audit: this.audit,
      tokens: this.tokens,
      serving: pki.serving,
      serves: ({ resource }, version) => this.#served.get(resource)?.includes(version) === true,
    });
    this.#caPem = pki.caPem;
    this.#client = new HttpClient(pki.caPem);
    this.faults = new Faults(this.#store, this.#watches, this.#server);
  }

  /** Address of the API server. */
  get url(): string {
    return this.#server.url;
  }

  /** Text of a kubeconfig for `system:admin`. */
  get kubeconfig(): string {
    return this.kubeconfigWith(this.#adminToken);
  }

  /** The store's current version. */
  get resourceVersion(): number {
    return this.#store.version;
  }

  /** How many watches are open. */
  get openWatches(): number {
    return this.#watches.count;
  }

  /** Text of a kubeconfig with this token, or with none. */
  kubeconfigWith(token: string | undefined): string {
    return kubeconfig({ server: this.url, certificateAuthorityPem: this.#caPem, token });
  }

  /** Text of a kubeconfig for a user, such as `system:serviceaccount:machineconfig-guard:machineconfig-guard`. */
  kubeconfigFor(user: User | string): string {
    return this.kubeconfigWith(this.tokens.issue(user));
  }

  /**
   * Which versions of a kind are served: none, as if its definition were not installed, or any that the sandbox knows. By
   * default each kind has its preferred one.
   */
  serve(resource: string, versions: readonly string[]): void {
    const unknown = versions.find((version) => !kindOf(resource).versions.includes(version));
    if (unknown !== undefined) throw new Error(`the sandbox does not know ${resource} at version ${unknown}`);
    this.#served.set(resource, versions);
  }

  /** Adds an object with everything that is given, its status included. Throws a StatusError. */
  create(resource: string, object: NewObject): KubeObject {
    const kind = kindOf(resource);
    const namespace = kind.namespaced ? (object.metadata.namespace ?? 'default') : '';
    return this.#registry.create({ kind, namespace }, object, { dryRun: false, keepStatus: true });
  }

  /** Applies a JSON merge patch, to the status too. Throws a StatusError. */
  patch(resource: string, name: string, patch: Readonly<Record<string, unknown>>, namespace = 'default'): KubeObject {
    const kind = kindOf(resource);
    const target = { kind, version: kind.versions[0], namespace: kind.namespaced ? namespace : '', name };
    const patched = this.#registry.patch({ ...target, subresource: undefined }, patch, { dryRun: false });
    if (!kind.status || patch['status'] === undefined) return patched;
    return this.#registry.patch({ ...target, subresource: 'status' }, { status: patch['status'] }, { dryRun: false });
  }

  /** An object as it is stored, or undefined. */
  get(resource: string, name: string, namespace = 'default'): KubeObject | undefined {
    const kind = kindOf(resource);
    return this.#store.get(kind, name, kind.namespaced ? namespace : '');
  }

  /** All objects of a kind, in the order of their names. */
  list(resource: string): KubeObject[] {
    return this.#store.list(kindOf(resource));
  }

  /** Removes an object behind admission's back, as an edit of etcd or the removal of its CRD does. */
  erase(resource: string, name: string, namespace = 'default'): void {
    const kind = kindOf(resource);
    this.#store.remove(kind, name, kind.namespaced ? namespace : '');
  }

  /** Sends a request over HTTPS, like any client. A body is sent as JSON; a PATCH is a merge patch. Rejects if cut off. */
  async request(method: string, path: string, body?: unknown, { as, headers }: SendOptions = {}): Promise<Answer> {
    const token = as === undefined ? this.#adminToken : this.#tokenOf(as);
    return await this.#client.send(this.url, {
      method,
      path,
      body,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
  }

  /** Sends the deletion of one object, as `oc delete` does. */
  async delete(
    resource: string,
    name: string,
    options: SendOptions & { readonly dryRun?: boolean } = {},
  ): Promise<Answer> {
    const query = options.dryRun === true ? '?dryRun=All' : '';
    return await this.request('DELETE', `${pathOf(kindOf(resource), name)}${query}`, undefined, options);
  }

  /** Listens. */
  async start(): Promise<void> {
    await this.#server.start(this.faults);
  }

  /** Ends all connections and frees the port. */
  async stop(): Promise<void> {
    this.#client.close();
    this.#webhooks.close();
    await this.#server.refuse();
  }

  #tokenOf(user: string): string {
    const token = this.#userTokens.get(user) ?? this.tokens.issue(user);
    this.#userTokens.set(user, token);
    return token;
  }
}

/** Starts a sandbox on a free port of 127.0.0.1, with certificates of its own. Takes about a second, most of it for keys. */
export async function startInMemoryCluster(options: InMemoryClusterOptions = {}): Promise<InMemoryCluster> {
  const now = new Date();
  const authority = options.authority ?? (await createAuthority({ days: CERTIFICATE_DAYS, now }));
  const serving = await issueLeaf({
    authority,
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    days: CERTIFICATE_DAYS,
    now,
  });
  const sandbox = new InMemoryCluster(options, { caPem: authority.certificatePem, serving });
  await sandbox.start();
  return sandbox;
}
