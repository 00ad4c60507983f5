import { existsSync, readFileSync, statSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';

/** The flags that select a cluster. */
export interface ConnectionOptions {
  /** Path of a kubeconfig file. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
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
  readonly headers: Readonly<Record<string, string>>;
};

interface Cluster {
  readonly server: URL;
  readonly isProxied: boolean;
}

const IN_CLUSTER_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** How long credentials are cached. KubeConfig itself reads a token file once a minute. */
const CREDENTIALS_TTL_MS = 10_000;

/** The address of one API server and the credentials for it. */
export class KubeConnection {
  readonly #load: () => KubeConfig;
  readonly #now: () => number;
  #config: KubeConfig;
  #cluster: Cluster;
  #cached: { credentials: Credentials; until: number } | undefined;

  /**
   * @param load reads the configuration; called again by {@link reload}
   * @throws KubeconfigError if the configuration contains no usable cluster
   */
  constructor(load: () => KubeConfig, now: () => number = Date.now) {
    this.#load = load;
    this.#now = now;
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

  /** Rejects if a token file or an exec plugin fails. */
  async credentials(): Promise<Credentials> {
    if (this.#cached !== undefined && this.#now() < this.#cached.until) return this.#cached.credentials;
    const options: RequestOptions & { headers: Record<string, string> } = { headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    // A token file often ends with a line feed, which is invalid in a header.
    const headers = Object.fromEntries(
      Object.entries(options.headers).map(([key, value]) => [key, value.trim()]),
    );
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

function findCluster(config: KubeConfig): Cluster {
  const cluster = config.getCurrentCluster();
  if (cluster === null || !URL.canParse(cluster.server)) {
    const context = config.getCurrentContext();
    throw new KubeconfigError(
      context === ''
        ? 'the kubeconfig has no current context'
        : `the kubeconfig has no usable cluster for context "${context}"`,
    );
  }
  return { server: new URL(cluster.server), isProxied: (cluster.proxyUrl ?? '') !== '' };
}

/**
 * Finds the cluster: `--kubeconfig`, else `KUBECONFIG`, else the pod's service account, else
 * `~/.kube/config`.
 *
 * @throws KubeconfigError
 */
export function loadConnection(
  options: ConnectionOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): KubeConnection {
  return new KubeConnection(() => {
    const config = loadConfig(options, env);
    if (options.context !== undefined) {
      if (config.getContextObject(options.context) === null) {
        throw new KubeconfigError(`the kubeconfig has no context "${options.context}"`);
      }
      config.setCurrentContext(options.context);
    }
    return config;
  });
}

/** The contexts of the kubeconfig. */
export interface KubeContexts {
  readonly current: string;
  readonly names: readonly string[];
  /** One context for each pair of cluster and user: `oc` adds one for each project. Prefers the current one. */
  readonly distinct: readonly string[];
}

/** @throws KubeconfigError */
export function listContexts(
  options: Pick<ConnectionOptions, 'kubeconfig'>,
  env: Readonly<Record<string, string | undefined>> = process.env,
): KubeContexts {
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
  return { current, names, distinct: names.filter((name) => distinct.has(name)) };
}

export function connectionFromKubeconfig(text: string): KubeConnection {
  return new KubeConnection(() => {
    const config = new KubeConfig();
    config.loadFromString(text);
    return config;
  });
}

function loadConfig(
  options: Pick<ConnectionOptions, 'kubeconfig'>,
  env: Readonly<Record<string, string | undefined>>,
): KubeConfig {
  const config = new KubeConfig();
  const source = findKubeconfig(options, env);
  if (source === 'in-cluster') config.loadFromCluster();
  else loadFiles(config, source);
  return config;
}

interface KubeconfigFiles {
  readonly files: readonly string[];
  /** `--kubeconfig`, `KUBECONFIG` or `the default`. */
  readonly origin: string;
}

function findKubeconfig(
  { kubeconfig }: Pick<ConnectionOptions, 'kubeconfig'>,
  env: Readonly<Record<string, string | undefined>>,
): KubeconfigFiles | 'in-cluster' {
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
    const subject = `the kubeconfig ${file} (from ${origin})`;
    if (!existsSync(file)) throw new KubeconfigError(`${subject} does not exist`);
    if (statSync(file).isDirectory()) throw new KubeconfigError(`${subject} is a directory`);
    const part = index === 0 ? config : new KubeConfig();
    try {
      part.loadFromFile(file);
      applyTokenFiles(part, file);
    } catch (error) {
      // The message of the parser can quote a token.
      const kind = error instanceof Error ? error.name : 'error';
      throw new KubeconfigError(`${subject} cannot be read: ${kind}`);
    }
    // As in kubectl, the first file with a current context wins.
    if (index > 0) config.mergeConfig(part, config.getCurrentContext() !== '');
  }
}

/**
 * Applies the field `tokenFile`. The client library ignores it and would connect anonymously, but has a
 * provider that reads a token file regularly.
 */
function applyTokenFiles(config: KubeConfig, file: string): void {
  const text = readFileSync(file, 'utf8');
  if (!text.includes('tokenFile')) return;
  const { users } = (parse(text) as {
    users?: readonly { name?: unknown; user?: { tokenFile?: unknown } | null }[] | null;
  } | null) ?? { users: [] };
  const tokenFiles = new Map((users ?? []).map(({ name, user }) => [name, user?.tokenFile]));
  config.users = config.users.map((user) => {
    const tokenFile = tokenFiles.get(user.name);
    if (typeof tokenFile !== 'string' || tokenFile === '') return user;
    const { token: _token, ...rest } = user;
    const absolute = path.resolve(path.dirname(file), tokenFile);
    return { ...rest, authProvider: { name: 'tokenFile', config: { tokenFile: absolute } } };
  });
}
