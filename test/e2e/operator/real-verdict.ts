import { basename } from 'node:path';
import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { buildGoReaders, type GoReading } from '../manifests/go-readers.ts';
import { type renderBootstrap, writeFiles } from './bootstrap-host.ts';
import type { Directory } from './manifest-directories.ts';

interface RealVerdict {
  /** Why the bootstrap host, or a host that reads only what the cluster has, renders nothing. */
  readonly failure: string | undefined;
  /** Whether the nodes of the two hosts would boot with configs of other names. */
  readonly isDifferent: boolean;
  /** Why cluster-bootstrap or the API rejects objects. */
  readonly rejections: readonly string[];
}

const MANIFEST = /\.(?:ya?ml|json)$/;
const SYSTEM_NAMESPACE = /^(?:default|kube-.*|openshift(?:-.*)?)$/;
/** The pools that the bootstrap host serves. */
const SERVED_CONFIG = /^rendered-(?:master|worker)-/;

/**
 * Asks the real programs about manifests: those of the bootstrap host, and an API server.
 * @param renderDirectory as renderBootstrap
 */
export async function createJudge(
  renderDirectory: (manifests: string) => ReturnType<typeof renderBootstrap>,
  parent: string,
  admin: KubeClient,
) {
  const readWithGo = await buildGoReaders();
  const { sources: operatorNames } = await renderDirectory(await writeFiles(parent, {}));

  async function render(files: Readonly<Record<string, string>>) {
    try {
      const { names, sources } = await renderDirectory(await writeFiles(parent, files));
      return { names: names.filter((name) => SERVED_CONFIG.test(name)), sources };
    } catch (error) {
      return { names: [], sources: [], failure: String(error).trimEnd().split('\n').at(-1) ?? '' };
    }
  }

  return async (directory: Directory): Promise<RealVerdict> => {
    const copied = Object.entries(directory)
      .filter(([path]) => MANIFEST.test(path) && !isReplaced(path, directory))
      .map(([path, content]) => [basename(path), content] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    const readings = await readWithGo(copied.map(([, content]) => content));
    const bootstrap = await render(Object.fromEntries(copied));
    const created = listCreated(readings, bootstrap.sources, operatorNames);
    const cluster = await render(
      Object.fromEntries(created.map((object, index) => [`${index}.json`, JSON.stringify(object)])),
    );
    const failure = bootstrap.failure ?? cluster.failure;
    const rejections = readings.map(async ({ object, clusterError }) => {
      return clusterError || (object === null ? undefined : await findRejection(admin, object, readings));
    });
    return {
      failure,
      isDifferent: failure === undefined && String(bootstrap.names) !== String(cluster.names),
      rejections: (await Promise.all(rejections)).filter((rejection) => rejection !== undefined),
    };
  };
}

/** What the operator finds in the API: what exists wins, and it replaces objects with its names. */
function listCreated(readings: readonly GoReading[], sources: readonly string[], operatorNames: readonly string[]) {
  const ids = new Set(['master', 'worker'].map((name) => `MachineConfigPool//${name}`));
  const created: KubeObject[] = [];
  for (const { object, clusterError } of readings) {
    if (clusterError !== '' || object === null || !hasName(object)) continue;
    const { name, namespace = '' } = object.metadata;
    const id = `${object.kind}/${namespace}/${name}`;
    // The bootstrap host renders such a config beside that of the operator.
    const isTwice = sources.filter((source) => source === name).length > 1;
    const isGenerated = /^99-.*-generated-/.test(name) && isTwice;
    const isOperators = object.kind === 'MachineConfig' && (operatorNames.includes(name) || isGenerated);
    if (!ids.has(id) && !isOperators) created.push(object);
    ids.add(id);
  }
  return created;
}

/** Posts an object as cluster-bootstrap does. Returns why the API rejects it. */
async function findRejection(admin: KubeClient, object: KubeObject, readings: readonly GoReading[]) {
  const { apiVersion, kind } = object;
  if (!apiVersion) return 'no apiVersion';
  // cluster-bootstrap gets the object by its name.
  if (!hasName(object)) return 'no name';
  const group = `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}`;
  const discovery = await admin.request('GET', group);
  const { resources = [] } = discovery.body as { resources?: { name: string; kind: string; namespaced: boolean }[] };
  const resource = resources.find((each) => each.kind === kind && !each.name.includes('/'));
  if (resource === undefined) return `no kind ${kind} in ${apiVersion}`;
  const namespace = findNamespace(object, readings);
  const metadata = { ...object.metadata, ...(namespace !== undefined && { namespace }) };
  const scope = resource.namespaced && metadata.namespace ? `/namespaces/${metadata.namespace}` : '';
  const path = `${group}${scope}/${resource.name}`;
  const response = await admin.request('POST', path, { ...object, metadata }, { query: { dryRun: 'All' } });
  const { status, body } = response;
  return status < 300 || status === 409 ? undefined : `${status}: ${(body as { message?: string }).message}`;
}

/** Whether a user wrote metadata and a name in them. */
function hasName({ metadata }: { readonly metadata?: { readonly name?: unknown } | null }): boolean {
  return typeof metadata?.name === 'string' && metadata.name !== '';
}

/** Each namespace of the cluster stands for those that a release creates, and for those of the manifests. */
function findNamespace({ metadata: { namespace } }: KubeObject, readings: readonly GoReading[]): string | undefined {
  const isCreated = readings.some(
    ({ object }) => object?.kind === 'Namespace' && hasName(object) && object.metadata.name === namespace,
  );
  // A fault can make it another value.
  const isText = typeof namespace === 'string' && namespace !== '';
  return isText && (isCreated || SYSTEM_NAMESPACE.test(namespace)) ? 'default' : namespace;
}

/** The bootstrap host copies openshift/ over manifests/. */
function isReplaced(path: string, directory: Directory): boolean {
  return path.startsWith('manifests/') && path.replace('manifests', 'openshift') in directory;
}
