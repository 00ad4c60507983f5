import { existsSync, readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { isMap, parseDocument } from 'yaml';
import { joinFirst } from '../decision/printable-text.ts';
import { CredentialsError } from './errors.ts';

/** The flags that select a cluster. */
export interface ConnectionOptions {
  /** Path of a kubeconfig file. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** The user to impersonate, and its groups. */
  readonly as?: string | undefined;
  readonly asGroup?: readonly string[] | undefined;
}

/** There is no usable kubeconfig. The message contains no secrets. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

/** TLS material and headers for one request. */
export type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'auth' | 'agent'
> & {
  readonly headers: Readonly<Record<string, string | string[]>>;
};

type Environment = Readonly<Record<string, string | undefined>>;

interface Cluster {
  readonly server: URL;
  readonly isProxied: boolean;
}

/** In a message that lists contexts. */
const MAX_CONTEXTS = 5;
/** What the client library says about a missing field. It quotes no value. */
const MISSING_FIELD = /^(?:clusters|contexts|users)\[\d+\]\S* is missing$/;
const IN_CLUSTER_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** How long credentials are cached. KubeConfig itself reads a token file once a minute. */
const CREDENTIALS_TTL_MS = 10_000;

/** The address of one API server and the credentials for it. */
export class KubeConnection {
  readonly #load: () => KubeConfig;
  readonly #now: () => number;
  readonly #groups: readonly string[];
  #config: KubeConfig;
  #cluster: Cluster;
  #cached: { credentials: Credentials; until: number } | undefined;

  /**
   * @param load reads the configuration; called again by {@link reload}
   * @param groups groups to impersonate; the configuration contains the user
   * @throws KubeconfigError if the configuration contains no usable cluster
   */
  constructor(load: () => KubeConfig, now: () => number = Date.now, groups: readonly string[] = []) {
    this.#load = load;
    this.#now = now;
    this.#groups = groups;
    this.#config = load();
    this.#cluster = findCluster(this.#config);
  }

  get server(): URL {
    return this.#cluster.server;
  }

  /** Whether the kubeconfig sets a proxy. Requests must then use the agent in the credentials. */
  get isProxied(): boolean {
    return this.#cluster.isProxied;
  }

  /** @throws CredentialsError if a file or an exec plugin fails */
  async credentials(): Promise<Credentials> {
    if (this.#cached !== undefined && this.#now() < this.#cached.until) return this.#cached.credentials;
    const options: RequestOptions & { headers: Record<string, string> } = { headers: {} };
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      throw explainCredentials(this.#config, error as NodeJS.ErrnoException);
    }
    // A token file often ends with a line feed, which is invalid in a header.
    const headers: Record<string, string | string[]> = Object.fromEntries(
      Object.entries(options.headers).map(([key, value]) => [key, value.trim()]),
    );
    if (this.#groups.length > 0) headers['Impersonate-Group'] = [...this.#groups];
    const credentials = { ...options, headers } as Credentials;
    this.#cached = { credentials, until: this.#now() + CREDENTIALS_TTL_MS };
    return credentials;
  }

  /**
   * Reads the configuration again. If that fails, the old one stays.
   *
   * @throws KubeconfigError
   */
  reload(): void {
    this.#cached = undefined;
    const config = this.#load();
    this.#cluster = findCluster(config);
    this.#config = config;
  }
}

/** Omits the text of the error: it can contain what an exec plugin printed. */
function explainCredentials(config: KubeConfig, { code, path: file }: NodeJS.ErrnoException): CredentialsError {
  const exec = config.getCurrentUser()?.exec as { readonly command?: unknown } | null | undefined;
  if (exec === null || exec === undefined) {
    const isFile = code !== undefined && file !== undefined;
    return new CredentialsError(
      isFile ? `cannot read ${file}: ${code}` : 'the login of the kubeconfig fails; log in with: oc login',
    );
  }
  const command = String(exec.command);
  return new CredentialsError(
    code === 'ENOENT'
      ? `the kubeconfig runs the command ${command}, which is not installed; install it, or log in with: oc login`
      : `the command ${command} of the kubeconfig fails; run it to see why`,
  );
}

function findCluster(config: KubeConfig): Cluster {
  const contexts = config.getContexts().map(({ name }) => name);
  const choices = contexts.length === 0 ? 'it has none' : `it has ${joinFirst(contexts, MAX_CONTEXTS)}`;
  const current = config.getCurrentContext();
  if (!hasText(current)) {
    const advice = contexts.length === 0 ? 'log in with: oc login' : `choose one with --context; ${choices}`;
    throw new KubeconfigError(`the kubeconfig has no current-context; ${advice}`);
  }
  const context = config.getContextObject(current);
  if (context === null) throw new KubeconfigError(`the kubeconfig has no context "${current}"; ${choices}`);
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) {
    const problem = `context "${current}" names cluster "${context.cluster}"`;
    throw new KubeconfigError(`the kubeconfig has an error: ${problem}, which does not exist`);
  }
  if (hasText(context.user) && config.getUser(context.user) === null) {
    const problem = `context "${current}" names user "${context.user}"`;
    throw new KubeconfigError(`the kubeconfig has an error: ${problem}, which does not exist`);
  }
  if (!URL.canParse(cluster.server)) {
    const problem = `the server of cluster "${cluster.name}" is not a URL`;
    throw new KubeconfigError(`the kubeconfig has an error: ${problem}, such as https://api.example.com:6443`);
  }
  return { server: new URL(cluster.server), isProxied: (cluster.proxyUrl ?? '') !== '' };
}

/**
 * Finds the cluster: `--kubeconfig`, else `KUBECONFIG`, else the pod's service account, else
 * `~/.kube/config`.
 *
 * @throws KubeconfigError
 */
export function loadConnection(options: ConnectionOptions, env: Environment = process.env): KubeConnection {
  const load = (): KubeConfig => {
    const config = loadConfig(options, env);
    if (options.context !== undefined) config.setCurrentContext(options.context);
    if (options.as !== undefined) impersonate(config, options.as);
    return config;
  };
  return new KubeConnection(load, Date.now, options.asGroup);
}

function loadConfig(options: ConnectionOptions, env: Environment): KubeConfig {
  const config = new KubeConfig();
  const source = findKubeconfig(options, env);
  if (source === 'in-cluster') config.loadFromCluster();
  else loadFiles(config, source);
  return config;
}

function impersonate(config: KubeConfig, user: string): void {
  const { name } = config.getCurrentUser() ?? {};
  config.users = config.users.map((own) => (own.name === name ? { ...own, impersonateUser: user } : own));
}

/** The contexts of the kubeconfig. */
export interface KubeContexts {
  /** Undefined without a current-context. */
  readonly current: string | undefined;
  readonly names: readonly string[];
  /** One context for each pair of cluster and user: `oc` adds one for each project. Prefers the current one. */
  readonly distinct: readonly string[];
}

/** @throws KubeconfigError */
export function readContexts(options: ConnectionOptions, env: Environment = process.env): KubeContexts {
  const config = loadConfig(options, env);
  const current = config.getCurrentContext();
  const contexts = config.getContexts();
  const firsts = new Map(
    contexts
      .toReversed()
      .toSorted((a, b) => Number(a.name === current) - Number(b.name === current))
      .map(({ name, cluster, user }) => [JSON.stringify([cluster, user]), name]),
  );
  const distinct = new Set(firsts.values());
  const names = contexts.map(({ name }) => name);
  return {
    current: hasText(current) ? current : undefined,
    names,
    distinct: names.filter((name) => distinct.has(name)),
  };
}

export function connectionFromKubeconfig(text: string): KubeConnection {
  return new KubeConnection(() => {
    const config = new KubeConfig();
    config.loadFromString(text);
    return config;
  });
}

interface KubeconfigFiles {
  readonly files: readonly string[];
  /** `--kubeconfig`, `KUBECONFIG` or `the default`. */
  readonly origin: string;
}

function findKubeconfig({ kubeconfig }: ConnectionOptions, env: Environment): KubeconfigFiles | 'in-cluster' {
  if (kubeconfig !== undefined) return { files: [kubeconfig], origin: '--kubeconfig' };
  const files = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  if (files.length > 0) return { files, origin: 'KUBECONFIG' };
  if ((env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && existsSync(IN_CLUSTER_TOKEN)) return 'in-cluster';
  const defaultFile = path.join(env['HOME'] ?? homedir(), '.kube', 'config');
  if (!existsSync(defaultFile)) {
    throw new KubeconfigError(
      `no cluster: neither --kubeconfig nor KUBECONFIG is set, and ${defaultFile} does not exist`,
    );
  }
  return { files: [defaultFile], origin: 'the default' };
}

function loadFiles(config: KubeConfig, { files, origin }: KubeconfigFiles): void {
  for (const [index, file] of files.entries()) {
    const part = index === 0 ? config : new KubeConfig();
    try {
      loadFile(part, file);
    } catch (error) {
      throw new KubeconfigError(`the kubeconfig ${file} (from ${origin}) ${explainFileError(error)}`);
    }
    if (index > 0) merge(config, part);
  }
}

/** As in kubectl, the first file wins. */
function merge(config: KubeConfig, part: KubeConfig): void {
  part.clusters = part.clusters.filter(({ name }) => config.getCluster(name) === null);
  part.contexts = part.contexts.filter(({ name }) => config.getContextObject(name) === null);
  part.users = part.users.filter(({ name }) => config.getUser(name) === null);
  config.mergeConfig(part, hasText(config.getCurrentContext()));
}

/** Although its type is a string, a field of the file can be missing or null. */
function hasText(value: string | null | undefined): boolean {
  return (value ?? '') !== '';
}

/** What is wrong with a kubeconfig, without its content. */
class KubeconfigProblem extends Error {}

function explainFileError(error: unknown): string {
  if (error instanceof KubeconfigProblem) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EISDIR') return 'is a directory';
  if (code !== undefined) return `cannot be read: ${code === 'EACCES' ? 'permission denied' : code}`;
  // Other messages can quote a token.
  return `is not usable: ${MISSING_FIELD.test(message) ? message : 'a field has a wrong type'}`;
}

/** @throws KubeconfigProblem, an error of the file system or of the client library */
function loadFile(config: KubeConfig, file: string): void {
  const text = readFileSync(file, 'utf8');
  const document = parseDocument(text, { prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const line = text.slice(0, error.pos[0]).split('\n').length;
    // A value follows the colon.
    const [reason = ''] = error.message.split(/[:;]/);
    throw new KubeconfigProblem(`is not valid YAML: line ${line}: ${reason}`);
  }
  if (document.contents === null) throw new KubeconfigProblem('is empty; log in with: oc login');
  if (!isMap(document.contents)) throw new KubeconfigProblem('is not a kubeconfig: it has no clusters');
  config.loadFromFile(file);
  applyTokenFiles(config, file, document.toJS());
}

interface Kubeconfig {
  readonly users?:
    readonly { readonly name?: unknown; readonly user?: { readonly tokenFile?: unknown } | null }[] | null;
}

/**
 * Applies the field `tokenFile`. The client library ignores it and would connect anonymously, but has a
 * provider that reads a token file regularly.
 */
function applyTokenFiles(config: KubeConfig, file: string, { users }: Kubeconfig): void {
  const tokenFiles = new Map((users ?? []).map(({ name, user }) => [name, user?.tokenFile]));
  config.users = config.users.map((user) => {
    const tokenFile = tokenFiles.get(user.name);
    if (typeof tokenFile !== 'string' || tokenFile === '') return user;
    const { token: _token, ...rest } = user;
    const absolute = path.resolve(path.dirname(file), tokenFile);
    return { ...rest, authProvider: { name: 'tokenFile', config: { tokenFile: absolute } } };
  });
}
