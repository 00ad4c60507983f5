import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { type Context, KubeConfig } from '@kubernetes/client-node';
import { parse, YAMLParseError } from 'yaml';
import { hasText, KubeConnection, KubeconfigError } from './kube-connection.ts';
import { LOGIN_ADVICE, type RepeatedFlags } from './output/advice.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const IN_CLUSTER_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * Finds the cluster as kubectl does (k8s.io/client-go, tools/clientcmd): `--kubeconfig`, else the existing files in
 * `KUBECONFIG`, else `~/.kube/config`, and without any context the pod's service account. `loadFromDefault` of the
 * client library rejects a list with a missing file or with a name in two files, and takes the last current-context.
 * Tests replace the `root` of the files of the pod.
 */
export function loadConnection(
  options: RepeatedFlags & { readonly as?: string },
  env: Environment = process.env,
  root = '',
): KubeConnection {
  return new KubeConnection(() => {
    const config = loadConfig(options, env, root);
    if (options.context !== undefined) config.setCurrentContext(options.context);
    const { name } = config.getCurrentUser() ?? {};
    const impersonate = options.as === undefined ? {} : { impersonateUser: options.as };
    config.users = config.users.map((user) => (user.name === name ? { ...user, ...impersonate } : user));
    return config;
  });
}

function loadConfig({ kubeconfig }: RepeatedFlags, env: Environment, root = ''): KubeConfig {
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
    throw new KubeconfigError(`no cluster: ${reason}`, LOGIN_ADVICE);
  }
  return config;
}

/** One context for each pair of cluster and user, because `oc` adds one for each project. Prefers the current one. */
export function readContexts(options: RepeatedFlags, env: Environment = process.env) {
  const config = loadConfig(options, env);
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

/** As in kubectl, what an earlier file defines wins. */
function addFile(config: KubeConfig, file: string, origin: string): void {
  const part = new KubeConfig();
  try {
    part.loadFromString(JSON.stringify(readFile(file)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Other messages can quote a token.
    let problem = 'is not usable: a field is missing or has a wrong type';
    if (error instanceof YAMLParseError) problem = `is not valid YAML at line ${error.linePos?.[0].line}`;
    else if (code !== undefined) problem = code === 'ENOENT' ? 'does not exist' : `cannot be read: ${code}`;
    throw new KubeconfigError(`the kubeconfig ${file} (from ${origin}) ${problem}`);
  }
  part.makePathsAbsolute(path.dirname(file));
  part.clusters = part.clusters.filter(({ name }) => config.getCluster(name) === null);
  part.contexts = part.contexts.filter(({ name }) => config.getContextObject(name) === null);
  part.users = part.users.filter(({ name }) => config.getUser(name) === null);
  config.mergeConfig(part, hasText(config.getCurrentContext()));
}

function readFile(file: string): object {
  const kubeconfig = (parse(readFileSync(file, 'utf8')) ?? {}) as {
    readonly users?: readonly { readonly user?: Record<string, unknown> | null }[] | null;
  };
  for (const { user } of kubeconfig.users ?? []) {
    if (typeof user?.['tokenFile'] !== 'string' || user['tokenFile'] === '') continue;
    // The client library ignores this field, but has a provider that reads a token file regularly.
    const tokenFile = path.resolve(path.dirname(file), user['tokenFile']);
    user['auth-provider'] = { name: 'tokenFile', config: { tokenFile } };
    delete user['token'];
  }
  return kubeconfig;
}
