import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { isMap, parseDocument } from 'yaml';
import { hasText, KubeConnection, KubeconfigError } from '../kube/connection.ts';

export { KubeconfigError };

/** The flags that select a cluster. */
export interface ConnectionOptions {
  /** Path of a kubeconfig file. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** The user to impersonate, and its groups. */
  readonly as?: string | undefined;
  readonly asGroup?: readonly string[] | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the client library says about a missing field. It quotes no value. */
const MISSING_FIELD = /^(?:clusters|contexts|users)\[\d+\]\S* is missing$/;
const IN_CLUSTER_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

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
  return new KubeConnection(load, options.asGroup);
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
