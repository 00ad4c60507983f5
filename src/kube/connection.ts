import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { joinFirst } from '../common/printable-text.ts';
import { CredentialsError } from './errors.ts';

/** There is no usable kubeconfig. The message contains no secrets. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
  readonly needsLogin: boolean;

  constructor(message: string, { needsLogin = false } = {}) {
    super(message);
    this.needsLogin = needsLogin;
  }
}

/** TLS material and headers for one request. */
export type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'auth' | 'agent'
> & {
  readonly headers: Readonly<Record<string, string | string[]>>;
};

interface Cluster {
  readonly server: URL;
  readonly isProxied: boolean;
}

/** In a message that lists contexts. */
const MAX_CONTEXTS = 5;
/** How long credentials are cached. KubeConfig itself reads a token file once a minute. */
const CREDENTIALS_TTL_MS = 10_000;

/** The address of one API server and the credentials for it. */
export class KubeConnection {
  readonly #load: () => KubeConfig;
  readonly #groups: readonly string[];
  #config: KubeConfig;
  #cluster: Cluster;
  #cached: { credentials: Credentials; until: number } | undefined;

  /**
   * @param load reads the configuration; called again by {@link reload}
   * @param groups groups to impersonate; the configuration contains the user
   * @throws KubeconfigError if the configuration contains no usable cluster
   */
  constructor(load: () => KubeConfig, groups: readonly string[] = []) {
    this.#load = load;
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
    if (this.#cached !== undefined && Date.now() < this.#cached.until) return this.#cached.credentials;
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
    this.#cached = { credentials, until: Date.now() + CREDENTIALS_TTL_MS };
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
    if (isFile) return new CredentialsError(`cannot read ${file}: ${code}`);
    return new CredentialsError('the login of the kubeconfig fails', { needsLogin: true });
  }
  const command = String(exec.command);
  return new CredentialsError(
    code === 'ENOENT'
      ? `the kubeconfig runs the command ${command}, which is not installed; install it`
      : `the command ${command} of the kubeconfig fails; run it to see why`,
  );
}

function findCluster(config: KubeConfig): Cluster {
  const contexts = config.getContexts().map(({ name }) => name);
  const choices = contexts.length === 0 ? 'it has none' : `it has ${joinFirst(contexts, MAX_CONTEXTS)}`;
  const current = config.getCurrentContext();
  if (!hasText(current)) {
    const problem = 'the kubeconfig has no current-context';
    if (contexts.length === 0) throw new KubeconfigError(problem, { needsLogin: true });
    throw new KubeconfigError(`${problem}; choose one with --context; ${choices}`);
  }
  const context = config.getContextObject(current);
  if (context === null) throw new KubeconfigError(`the kubeconfig has no context "${current}"; ${choices}`);
  const createError = (problem: string) => new KubeconfigError(`the kubeconfig has an error: ${problem}`);
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) {
    throw createError(`context "${current}" names cluster "${context.cluster}", which does not exist`);
  }
  if (hasText(context.user) && config.getUser(context.user) === null) {
    throw createError(`context "${current}" names user "${context.user}", which does not exist`);
  }
  if (!URL.canParse(cluster.server)) {
    throw createError(`the server of cluster "${cluster.name}" is not a URL, such as https://api.example.com:6443`);
  }
  return { server: new URL(cluster.server), isProxied: (cluster.proxyUrl ?? '') !== '' };
}

export function connectionFromKubeconfig(text: string): KubeConnection {
  return new KubeConnection(() => {
    const config = new KubeConfig();
    config.loadFromString(text);
    return config;
  });
}

/** Although its type is a string, a field of the file can be missing or null. */
export function hasText(value: string | null | undefined): boolean {
  return (value ?? '') !== '';
}
