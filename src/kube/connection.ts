import { existsSync, readFileSync, statSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';

/** Which cluster a command is to talk to, as given on its command line. */
export interface ConnectionOptions {
  /** Path of a kubeconfig file. */
  readonly kubeconfig?: string | undefined;
  /** Name of a context in it. */
  readonly context?: string | undefined;
}

/** No usable kubeconfig: the message says what was looked for, without secrets. */
export class KubeconfigError extends Error {
  override readonly name = 'NoConnection';
}

/** TLS material and headers for one request. */
export type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'auth' | 'agent'
> & {
  readonly headers: Readonly<Record<string, string>>;
};

/** Where a cluster is. */
interface Cluster {
  readonly name: string;
  readonly server: URL;
  readonly proxied: boolean;
}

const IN_CLUSTER_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** How long credentials are used before they are read again. The token file itself is looked at once a minute by KubeConfig. */
const CREDENTIALS_TTL_MS = 10_000;

/** One cluster's address and the credentials for it, from a kubeconfig or from the pod's service account. */
export class KubeConnection {
  readonly #load: () => KubeConfig;
  readonly #now: () => number;
  #config: KubeConfig;
  #cluster: Cluster;
  #cached: { credentials: Credentials; until: number } | undefined;

  /**
   * @param load reads the configuration; called again by {@link reload}
   * @throws NoConnection where the configuration names no usable cluster
   */
  constructor(load: () => KubeConfig, now: () => number = Date.now) {
    this.#load = load;
    this.#now = now;
    this.#config = load();
    this.#cluster = clusterOf(this.#config);
  }

  /** Base address of the API server. */
  get server(): URL {
    return this.#cluster.server;
  }

  /** Does the kubeconfig ask for a proxy? Then its agent must be used as it is. */
  get proxied(): boolean {
    return this.#cluster.proxied;
  }

  /** The name of the cluster in its kubeconfig, for people. */
  get clusterName(): string {
    return this.#cluster.name;
  }

  /** What a request needs to be accepted. Rejects where a token file or an exec plug-in fails. */
  async credentials(): Promise<Credentials> {
    if (this.#cached !== undefined && this.#now() < this.#cached.until) return this.#cached.credentials;
    const options: RequestOptions & { headers: Record<string, string> } = { headers: {} };
    await this.#config.applyToHTTPSOptions(options);
    // A token file often ends with a line break, which is no valid header character.
    const headers = Object.fromEntries(Object.entries(options.headers).map(([key, value]) => [key, value.trim()]));
    const credentials = { ...options, headers } as Credentials;
    this.#cached = { credentials, until: this.#now() + CREDENTIALS_TTL_MS };
    return credentials;
  }

  /** Reads everything again: the token was rotated, or the kubeconfig was rewritten. Keeps what it has if that fails. */
  reload(): void {
    this.#cached = undefined;
    const config = this.#load();
    this.#cluster = clusterOf(config);
    this.#config = config;
  }
}

function clusterOf(config: KubeConfig): Cluster {
  const cluster = config.getCurrentCluster();
  if (cluster === null || !URL.canParse(cluster.server)) {
    const context = config.getCurrentContext();
    throw new KubeconfigError(
      context === ''
        ? 'the kubeconfig has no current context'
        : `the kubeconfig has no usable cluster for context "${context}"`,
    );
  }
  return { name: cluster.name, server: new URL(cluster.server), proxied: (cluster.proxyUrl ?? '') !== '' };
}

/**
 * The connection that a command is to use: `--kubeconfig`, else `KUBECONFIG`, else the pod's service account, else
 * `~/.kube/config`.
 *
 * @throws NoConnection where none of them is usable
 */
export function loadConnection(
  options: ConnectionOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): KubeConnection {
  return new KubeConnection(() => {
    const config = new KubeConfig();
    const [files, source] = kubeconfigFiles(options, env);
    if (files === undefined) {
      config.loadFromCluster();
    } else {
      loadFiles(config, files, source);
    }
    if (options.context !== undefined) {
      if (config.getContextObject(options.context) === null) {
        throw new KubeconfigError(`the kubeconfig has no context "${options.context}"`);
      }
      config.setCurrentContext(options.context);
    }
    return config;
  });
}

/** A connection from a kubeconfig's text, for the embedded cluster. */
export function connectionFromKubeconfig(kubeconfig: string): KubeConnection {
  return new KubeConnection(() => {
    const config = new KubeConfig();
    config.loadFromString(kubeconfig);
    return config;
  });
}

/** The files to read and where their names come from; no files means: inside a pod. */
function kubeconfigFiles(
  { kubeconfig }: ConnectionOptions,
  env: Readonly<Record<string, string | undefined>>,
): [string[] | undefined, string] {
  if (kubeconfig !== undefined) return [[kubeconfig], '--kubeconfig'];
  const fromEnv = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  if (fromEnv.length > 0) return [fromEnv, 'KUBECONFIG'];
  if ((env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && existsSync(IN_CLUSTER_TOKEN)) return [undefined, 'in-cluster'];
  const home = path.join(env['HOME'] ?? homedir(), '.kube', 'config');
  if (!existsSync(home)) {
    throw new KubeconfigError(`no cluster: neither --kubeconfig nor KUBECONFIG is set, and ${home} does not exist`);
  }
  return [[home], 'the default'];
}

function loadFiles(config: KubeConfig, files: readonly string[], source: string): void {
  for (const [index, file] of files.entries()) {
    if (!existsSync(file)) throw new KubeconfigError(`the kubeconfig ${file} (from ${source}) does not exist`);
    if (statSync(file).isDirectory())
      throw new KubeconfigError(`the kubeconfig ${file} (from ${source}) is a directory`);
    const part = index === 0 ? config : new KubeConfig();
    try {
      part.loadFromFile(file);
      readTokenFiles(part, file);
    } catch (error) {
      // The parser's own message can quote the file, and with it a token.
      const kind = error instanceof Error ? error.name : 'error';
      throw new KubeconfigError(`the kubeconfig ${file} (from ${source}) cannot be read: ${kind}`);
    }
    // As kubectl does it: the first file that has a current context decides.
    if (index > 0) config.mergeConfig(part, config.getCurrentContext() !== '');
  }
}

/**
 * Kubeconfigs may name a file with the token (`tokenFile`), which is read again and again because it is replaced on disk. The
 * client library can do that but does not know the field's name, and would connect as nobody.
 */
function readTokenFiles(config: KubeConfig, file: string): void {
  const text = readFileSync(file, 'utf8');
  if (!text.includes('tokenFile')) return;
  const { users } = (parse(text) as {
    users?: readonly { name?: unknown; user?: { tokenFile?: unknown } | null }[] | null;
  } | null) ?? { users: [] };
  const tokenFiles = new Map((users ?? []).map(({ name, user }) => [name, user?.tokenFile]));
  config.users = config.users.map((user) => {
    const tokenFile = tokenFiles.get(user.name);
    if (typeof tokenFile !== 'string' || tokenFile === '') return user;
    const { token: _overridden, ...rest } = user;
    const whole = path.resolve(path.dirname(file), tokenFile);
    return { ...rest, authProvider: { name: 'tokenFile', config: { tokenFile: whole } } };
  });
}
