import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { Cluster, KubeConfig } from '@kubernetes/client-node';
import { joinFirst } from '../common/printable-text.ts';
import { toSeconds } from '../common/duration.ts';
import { isTimeout, NEVER_ABORTED, waitOrAbort } from '../common/wait.ts';
import type { Connection, Credentials } from '../kube/api.ts';
import { explainError } from '../files/file-error.ts';
import { CredentialsError } from './credentials-error.ts';
import { CliError, EXIT_CODE } from './exit.ts';
import { type Advice, LOGIN_ADVICE } from './output/advice.ts';

/** There is no usable kubeconfig. The message contains no secrets. */
export class KubeconfigError extends CliError {
  constructor(message: string, advice?: Advice) {
    super(message, EXIT_CODE.clusterAccess, { advice });
  }
}

/** KubeConfig itself reads a token file once a minute. */
const CREDENTIALS_TTL_MS = 10_000;
/** Of `proxy-url`, as in kubectl (client-go, tools/clientcmd/helpers.go). */
const PROXY_SCHEME = /^(?:https?|socks5):\/\//;
const CERTIFICATE = 'the client certificate in the kubeconfig';
const UNSENDABLE = /[^\t -~\u0080-\u00FF]/;

type LoginOptions = RequestOptions & { headers: Record<string, string> };

export class KubeConnection implements Connection {
  readonly #load: () => KubeConfig;
  #config!: KubeConfig;
  #cluster!: Cluster;
  #cached: { credentials: Credentials; until: number } | undefined;
  #login: Promise<LoginOptions> | undefined;
  readonly #commands = new Set<ChildProcess>();

  /** @param load reads the configuration, also for {@link reload}. Throws a KubeconfigError without a usable cluster */
  constructor(load: () => KubeConfig) {
    this.#load = load;
    this.reload();
  }

  get server(): URL {
    return new URL(this.#cluster.server);
  }

  get isProxied(): boolean {
    return hasText(this.#cluster.proxyUrl);
  }

  get isLoggingIn(): boolean {
    return this.#commands.size > 0;
  }

  /** @throws CredentialsError if a file or an exec plugin fails, or the plugin hangs; or the signal's reason */
  async credentials(signal = NEVER_ABORTED): Promise<Credentials> {
    if (this.#cached !== undefined && Date.now() < this.#cached.until) return this.#cached.credentials;
    let options: LoginOptions;
    try {
      // Requests in parallel share one login: an exec plugin can ask a person.
      this.#login ??= this.#logIn();
      options = await waitOrAbort(this.#login, signal);
    } catch (error) {
      for (const command of this.#commands) command.kill();
      const exec = this.#config.getCurrentUser()?.exec as { readonly command?: unknown } | null | undefined;
      if (signal.aborted && (!isTimeout(error) || !exec)) throw error;
      throw explainCredentials(exec ? String(exec.command) : undefined, error as NodeJS.ErrnoException);
    }
    // A token file often ends with a line feed, which is invalid in a header.
    const headers: Record<string, string> = Object.fromEntries(
      Object.entries(options.headers).map(([key, value]) => [key, value.trim()]),
    );
    assertUsable(options, headers);
    const credentials = { ...options, headers } as Credentials;
    this.#cached = { credentials, until: Date.now() + CREDENTIALS_TTL_MS };
    return credentials;
  }

  async #logIn(): Promise<LoginOptions> {
    const options: LoginOptions = { headers: {} };
    try {
      await this.#config.applyToHTTPSOptions(options);
      return options;
    } finally {
      this.#login = undefined;
    }
  }

  /** Reads the configuration again. If that throws a KubeconfigError, the old one stays. */
  reload(): void {
    this.#cached = undefined;
    this.#login = undefined;
    const config = this.#load();
    this.#cluster = findCluster(config);
    this.#config = this.#watchCommands(config);
  }

  /**
   * The client library starts exec plugins, and cannot end one that hangs. As in kubectl, a plugin can print to stderr
   * where a person logs in, or why it fails (client-go, plugin/pkg/client/auth/exec/exec.go).
   */
  #watchCommands(config: KubeConfig): KubeConfig {
    const { authenticators } = config as unknown as { authenticators: readonly { execFn?: typeof spawn }[] };
    const start = (...args: readonly [string, string[], SpawnOptions]): ChildProcess => {
      const command = spawn(...args);
      this.#commands.add(command);
      command.stderr?.on('data', (text: string) => process.stderr.write(text));
      return command.once('close', () => this.#commands.delete(command));
    };
    for (const authenticator of authenticators)
      if ('execFn' in authenticator) authenticator.execFn = start as typeof spawn;
    return config;
  }
}

/** @throws CredentialsError instead of an error in the middle of a request */
function assertUsable({ cert, key }: RequestOptions, headers: Credentials['headers']): void {
  const [name] = Object.entries(headers).find(([, text]) => UNSENDABLE.test(text)) ?? [];
  if (name !== undefined) {
    const subject = name === 'Authorization' ? 'the token of the kubeconfig' : name;
    throw new CredentialsError(`${subject} contains a character that no HTTP header can have, such as a line break`);
  }
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new CredentialsError(`${CERTIFICATE} cannot be used: it or its key is no PEM, or they do not match`);
  }
  const { validTo } = cert === undefined ? {} : new X509Certificate(cert as string | Buffer);
  if (validTo === undefined || Date.parse(validTo) > Date.now()) return;
  const time = toSeconds(new Date(validTo));
  throw new CredentialsError(`${CERTIFICATE} expired at ${time} by the clock of this machine`, { needsLogin: true });
}

/** Omits the text of the error: it can contain what an exec plugin printed. */
function explainCredentials(command: string | undefined, error: NodeJS.ErrnoException): CredentialsError {
  const { code, path: file } = error;
  if (command === undefined) {
    if (code !== undefined && file !== undefined) {
      const { message } = explainError(`${file}, which the kubeconfig names`, error) as Error;
      return new CredentialsError(message);
    }
    return new CredentialsError('the login of the kubeconfig fails', { needsLogin: true });
  }
  const subject = `the command ${command} of the kubeconfig`;
  if (code === 'ENOENT') return new CredentialsError(`${subject} is not installed; install it`);
  return new CredentialsError(`${subject} ${isTimeout(error) ? 'does not end' : 'fails'}; run it to see why`);
}

function fail(problem: string): never {
  throw new KubeconfigError(`in the kubeconfig, ${problem}`);
}

function findCluster(config: KubeConfig): Cluster {
  const contexts = config.getContexts().map(({ name }) => name);
  const current = config.getCurrentContext();
  if (!hasText(current) && contexts.length === 0) {
    throw new KubeconfigError('the kubeconfig has no current-context', LOGIN_ADVICE);
  }
  const context = config.getContextObject(current);
  if (context === null) {
    const problem = hasText(current) ? `no context "${current}"` : 'no current-context; choose one with --context';
    throw new KubeconfigError(`the kubeconfig has ${problem}; it has ${joinFirst(contexts)}`);
  }
  const cluster =
    config.getCluster(context.cluster) ??
    fail(`context "${current}" names cluster "${context.cluster}", which does not exist`);
  const user = config.getUser(context.user ?? '');
  if (hasText(context.user) && user === null)
    fail(`context "${current}" names user "${context.user}", which does not exist`);
  const { name: provider, config: settings = {} } = (user?.authProvider ?? {}) as { name?: string; config?: object };
  // The client library runs the command of some providers in a shell. kubectl has dropped them.
  if (provider !== undefined && (provider !== 'tokenFile' || Object.keys(settings).join() !== 'tokenFile'))
    fail(`user "${context.user}" has the auth-provider "${provider}"; use an exec plugin or token file`);
  // The client library uses http, such as of `kubectl proxy`, only beside this field.
  const scheme = cluster.skipTLSVerify ? /^https?:/i : /^https:/i;
  if (!scheme.test(cluster.server) || !URL.canParse(cluster.server))
    fail(`the server of cluster "${cluster.name}" is not an https URL, such as https://api.example.com:6443`);
  const { proxyUrl = '' } = cluster;
  if (hasText(proxyUrl) && !(PROXY_SCHEME.test(proxyUrl) && URL.canParse(proxyUrl))) {
    const example = 'a URL of http, https or socks5, such as http://proxy.example.com:3128';
    fail(`the proxy-url of cluster "${cluster.name}" is not ${example}`);
  }
  return cluster;
}

/** Although its type is a string, a field of the file can be missing or null. */
export function hasText(value: string | null | undefined): boolean {
  return (value ?? '') !== '';
}
