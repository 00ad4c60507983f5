import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { type Context, KubeConfig } from '@kubernetes/client-node';
import { isMap, parseDocument } from 'yaml';
import { hasText, KubeConnection, KubeconfigError } from './kube-connection.ts';
import type { ClusterFlags } from './cluster-options.ts';
import { CliError, EXIT_CODE } from './exit.ts';
import { LOGIN_ADVICE } from './output/advice.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the client library says about a missing field. It quotes no value. */
const MISSING_FIELD = /^(?:clusters|contexts|users)\[\d+\]\S* is missing$/;
const IN_CLUSTER_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * Finds the cluster as kubectl does (k8s.io/client-go, tools/clientcmd): `--kubeconfig`, else the existing files in
 * `KUBECONFIG`, else `~/.kube/config`, and without any context the pod's service account. `loadFromDefault` of the
 * client library rejects a list with a missing file or with a name in two files, and takes the last current-context.
 *
 * @param root the directory of a pod's files, for tests
 * @throws CliError if there is no usable kubeconfig
 */
export function loadConnection(options: ClusterFlags, env: Environment = process.env, root = ''): KubeConnection {
  const load = (): KubeConfig => {
    const config = loadConfig(options, env, root);
    if (options.context !== undefined) config.setCurrentContext(options.context);
    const { name } = config.getCurrentUser() ?? {};
    const impersonate = options.as === undefined ? {} : { impersonateUser: options.as };
    config.users = config.users.map((user) => (user.name === name ? { ...user, ...impersonate } : user));
    return config;
  };
  return explainErrors(() => new KubeConnection(load));
}

function loadConfig({ kubeconfig }: ClusterFlags, env: Environment, root = ''): KubeConfig {
  const config = new KubeConfig();
  if (kubeconfig !== undefined) {
    addFile(config, kubeconfig, '--kubeconfig');
    return config;
  }
  const listed = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  const defaultFile = path.join(env['HOME'] ?? homedir(), '.kube', 'config');
  const isDefault = listed.length === 0;
  const files = (isDefault ? [defaultFile] : listed).filter((file) => existsSync(file));
  for (const file of files) addFile(config, file, isDefault ? 'the default' : 'KUBECONFIG');
  const isInPod = (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && existsSync(root + IN_CLUSTER_TOKEN);
  if (config.getContexts().length === 0 && isInPod) config.loadFromCluster(root);
  else if (files.length === 0) {
    const reason = isDefault
      ? `neither --kubeconfig nor KUBECONFIG is set, and ${defaultFile} does not exist`
      : `no file of KUBECONFIG exists: ${listed.join(', ')}`;
    throw new KubeconfigError(`no cluster: ${reason}`, { needsLogin: true });
  }
  return config;
}

function explainErrors<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    const advice = error.needsLogin ? LOGIN_ADVICE : undefined;
    throw new CliError(error.message, EXIT_CODE.clusterAccess, { cause: error, advice });
  }
}

/**
 * The contexts of the kubeconfig, one for each pair of cluster and user, because `oc` adds a context for each project.
 * The current context is preferred, and undefined if there is none.
 *
 * @throws CliError if there is no usable kubeconfig
 */
export function readContexts(options: ClusterFlags, env: Environment = process.env) {
  const config = explainErrors(() => loadConfig(options, env));
  const current = config.getCurrentContext();
  const contexts = config.getContexts();
  const preferred = contexts.toSorted((a, b) => Number(b.name === current) - Number(a.name === current));
  const isFirst = (context: Context): boolean =>
    context === preferred.find(({ cluster, user }) => cluster === context.cluster && user === context.user);
  return {
    current: hasText(current) ? current : undefined,
    distinct: contexts.filter(isFirst).map(({ name }) => name),
  };
}

function explainFileError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EISDIR') return 'is a directory';
  if (code !== undefined) return `cannot be read: ${code === 'EACCES' ? 'permission denied' : code}`;
  // Other messages can quote a token.
  return `is not usable: ${MISSING_FIELD.test(message) ? message : 'a field has a wrong type'}`;
}

/**
 * Adds the content of a file. As in kubectl, what an earlier file defines wins.
 *
 * @throws KubeconfigError
 */
function addFile(config: KubeConfig, file: string, origin: string): void {
  const part = new KubeConfig();
  const subject = `the kubeconfig ${file} (from ${origin})`;
  try {
    part.loadFromString(JSON.stringify(readFile(file, subject)));
  } catch (error) {
    throw error instanceof KubeconfigError ? error : new KubeconfigError(`${subject} ${explainFileError(error)}`);
  }
  part.makePathsAbsolute(path.dirname(file));
  part.clusters = part.clusters.filter(({ name }) => config.getCluster(name) === null);
  part.contexts = part.contexts.filter(({ name }) => config.getContextObject(name) === null);
  part.users = part.users.filter(({ name }) => config.getUser(name) === null);
  config.mergeConfig(part, hasText(config.getCurrentContext()));
}

interface StoredKubeconfig {
  readonly users?: readonly { readonly user?: Record<string, unknown> | null }[] | null;
}

/** @throws KubeconfigError, an error of the file system or a TypeError */
function readFile(file: string, subject: string): StoredKubeconfig {
  const document = parseDocument(readFileSync(file, 'utf8'));
  const [error] = document.errors;
  if (error !== undefined) {
    // A value follows the colon, and the lines of the file follow the position.
    const [reason = ''] = error.message.split(/[:;]| at line /);
    throw new KubeconfigError(`${subject} is not valid YAML: line ${error.linePos?.[0].line}: ${reason}`);
  }
  if (document.contents === null) return {};
  if (!isMap(document.contents)) throw new KubeconfigError(`${subject} is not a kubeconfig: it has no clusters`);
  const kubeconfig = document.toJS() as StoredKubeconfig;
  for (const { user } of kubeconfig.users ?? []) {
    if (typeof user?.['tokenFile'] !== 'string' || user['tokenFile'] === '') continue;
    // The client library ignores this field, but has a provider that reads a token file regularly.
    const tokenFile = path.resolve(path.dirname(file), user['tokenFile']);
    user['auth-provider'] = { name: 'tokenFile', config: { tokenFile } };
    delete user['token'];
  }
  return kubeconfig;
}
