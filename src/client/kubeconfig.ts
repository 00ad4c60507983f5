import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { type Context, KubeConfig } from '@kubernetes/client-node';
import { groupBy } from '../common/group-by.ts';
import { shell } from '../diagnosis/shell-command.ts';
import { FileError, formatPath } from '../files/file-error.ts';
import { readRegularFileSync } from '../files/read-file.ts';
import { parseYaml, YamlError } from '../files/yaml-document.ts';
import { hasText, KubeConnection, KubeconfigError } from './kube-connection.ts';
import { advise, type RepeatedFlags } from './output/advice.ts';

/** One cluster with its certificates has about 6 KiB. */
const MAX_BYTES = 16 * 1024 * 1024;
const NO_CLUSTER_ADVICE = advise(
  "during an install, pass --kubeconfig auth/kubeconfig of the installer's directory; otherwise log in with",
  shell`oc login`,
);
const OTHER_FILE_ADVICE = advise('correct it, or pass another file with --kubeconfig');
const IN_CLUSTER_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * Finds the cluster as kubectl does (k8s.io/client-go, tools/clientcmd): `--kubeconfig`, else the existing files in
 * `KUBECONFIG`, else `~/.kube/config`, and without any context the pod's service account. `loadFromDefault` of the
 * client library rejects a list with a missing file or with a name in two files, and takes the last current-context.
 * Tests replace the `root` of the files of the pod.
 */
export function loadConnection(options: RepeatedFlags & { readonly as?: string }, root = ''): KubeConnection {
  return new KubeConnection(() => {
    const config = loadConfig(options, root);
    if (options.context !== undefined) config.setCurrentContext(options.context);
    if (options.as !== undefined) Object.assign(config.getCurrentUser() ?? {}, { impersonateUser: options.as });
    return config;
  });
}

function loadConfig({ kubeconfig }: RepeatedFlags, root = ''): KubeConfig {
  const config = new KubeConfig();
  if (kubeconfig !== undefined) {
    addFile(config, kubeconfig, '--kubeconfig');
    return config;
  }
  const listed = (process.env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  const defaultFile = path.join(process.env['HOME'] ?? homedir(), '.kube', 'config');
  const isDefault = listed.length === 0;
  const files = (isDefault ? [defaultFile] : listed).filter((file) => existsSync(file));
  for (const file of files) addFile(config, file, isDefault ? 'the default' : 'KUBECONFIG');
  const isInPod = (process.env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && existsSync(root + IN_CLUSTER_TOKEN);
  if (config.getContexts().length === 0 && isInPod) config.loadFromCluster(root);
  else if (files.length === 0) {
    const reason = isDefault
      ? `neither --kubeconfig nor KUBECONFIG is set, and ${defaultFile} does not exist`
      : `no file of KUBECONFIG exists: ${listed.join(', ')}`;
    throw new KubeconfigError(`no cluster: ${reason}`, NO_CLUSTER_ADVICE);
  }
  return config;
}

/** One context for each pair of cluster and user, because `oc` adds one for each project. Prefers the current one. */
export function readContexts(options: RepeatedFlags) {
  const config = loadConfig(options);
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
    // Other messages can quote a token.
    let problem = 'a field is missing or has a wrong type';
    if (error instanceof YamlError) problem = `it is not valid YAML at line ${error.line}`;
    else if (error instanceof FileError) problem = error.message;
    throw new KubeconfigError(`the kubeconfig ${file} (from ${origin}) is not usable: ${problem}`, OTHER_FILE_ADVICE);
  }
  part.makePathsAbsolute(path.dirname(file));
  part.clusters = part.clusters.filter(({ name }) => config.getCluster(name) === null);
  part.contexts = part.contexts.filter(({ name }) => config.getContextObject(name) === null);
  part.users = part.users.filter(({ name }) => config.getUser(name) === null);
  config.mergeConfig(part, hasText(config.getCurrentContext()));
}

const KUBECONFIG_KEYS = ['clusters', 'contexts', 'current-context', 'kind', 'users'];

interface NamedEntry {
  readonly name?: unknown;
  readonly user?: Record<string, unknown> | null;
}

type Kubeconfig = Readonly<Partial<Record<'clusters' | 'contexts' | 'users', readonly NamedEntry[] | null>>> & {
  readonly kind?: unknown;
};

function readFile(file: string): object {
  const text = readRegularFileSync(file, MAX_BYTES).toString();
  const kubeconfig = (parseYaml(text, formatPath(file)).value ?? {}) as Kubeconfig;
  const keys = Object.keys(kubeconfig);
  const isOther = keys.length > 0 && !KUBECONFIG_KEYS.some((key) => keys.includes(key));
  // Without an error here, the advice would be a login, which writes into the file.
  if (isOther || (kubeconfig.kind ?? 'Config') !== 'Config') throw new FileError('it is another kind of file');
  for (const key of ['clusters', 'contexts', 'users'] as const) {
    const byName = groupBy(kubeconfig[key] ?? [], ({ name }) => name);
    const [duplicate] = [...byName].find(([, entries]) => entries.length > 1) ?? [];
    // kubectl rejects them, too.
    if (duplicate !== undefined) throw new FileError(`its ${key} have the name ${JSON.stringify(duplicate)} twice`);
  }
  for (const { user } of kubeconfig.users ?? []) {
    if (typeof user?.['tokenFile'] !== 'string' || user['tokenFile'] === '') continue;
    // The client library ignores this field, but has a provider that reads a token file regularly.
    const tokenFile = path.resolve(path.dirname(file), user['tokenFile']);
    user['auth-provider'] = { name: 'tokenFile', config: { tokenFile } };
    delete user['token'];
  }
  return kubeconfig;
}
