import { KINDS, type Kind } from './kinds.ts';

/** What a path points at. */
export interface Target {
  readonly kind: Kind;
  /** The API version asked for. */
  readonly version: string;
  readonly namespace: string;
  /** Undefined for a whole collection. */
  readonly name: string | undefined;
  readonly subresource: 'status' | undefined;
}

/** `/api/v1/…` or `/apis/group/version/…`, an optional namespace, a plural, an optional name and subresource. */
const PATH =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<resource>[^/]+)(?:\/(?<name>[^/]+)(?:\/(?<subresource>[^/]+))?)?$/;

/** Reads a path without its query. Undefined where no kind answers there, which on the API server is a plain 404. */
export function targetOf(path: string): Target | undefined {
  const groups = PATH.exec(path)?.groups;
  if (groups === undefined) return undefined;
  const { group = '', version = '', namespace = '', resource = '', name, subresource } = groups;
  const kind = KINDS.find((known) => known.group === group && known.resource === resource);
  if (kind === undefined || !kind.versions.includes(version)) return undefined;
  if (subresource !== undefined && !(subresource === 'status' && kind.status)) return undefined;
  // An object of a namespaced kind is found only through its namespace; a cluster-scoped one never is.
  if (kind.namespaced ? name !== undefined && namespace === '' : namespace !== '') return undefined;
  return {
    kind,
    version,
    namespace: decodeURIComponent(namespace),
    name: name === undefined ? undefined : decodeURIComponent(name),
    subresource: subresource === undefined ? undefined : 'status',
  };
}

/** The path of an object, or of the collection where no name is given, at the kind's preferred version. */
export function pathOf(kind: Kind, name?: string, namespace = 'default'): string {
  const [version] = kind.versions;
  const root = kind.group === '' ? `/api/${version}` : `/apis/${kind.group}/${version}`;
  const collection = `${root}${kind.namespaced ? `/namespaces/${namespace}` : ''}/${kind.resource}`;
  return name === undefined ? collection : `${collection}/${encodeURIComponent(name)}`;
}
