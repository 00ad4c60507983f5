import { type Kind, KINDS } from './kinds.ts';

const GROUP_VERSION = /^\/apis\/(?<group>[^/]+)\/(?<version>[^/]+)$/;

/**
 * The API server's directory, as far as clients of the sandbox look things up in it: `/apis` (the groups) and
 * `/apis/GROUP/VERSION` (its resources). Undefined where the path is no part of it, or the version is not served.
 */
export function directoryAt(path: string, serves: (kind: Kind, version: string) => boolean): object | undefined {
  const served = KINDS.flatMap((kind) =>
    kind.versions.filter((version) => kind.group !== '' && serves(kind, version)).map((version) => ({ kind, version })),
  );
  if (path === '/apis') {
    const groups = [...new Set(served.map(({ kind }) => kind.group))].map((name) => {
      const versions = [...new Set(served.filter(({ kind }) => kind.group === name).map(({ version }) => version))];
      return { name, versions: versions.map((version) => ({ groupVersion: `${name}/${version}`, version })) };
    });
    return { kind: 'APIGroupList', apiVersion: 'v1', groups };
  }
  const { group, version } = GROUP_VERSION.exec(path)?.groups ?? {};
  const resources = served
    .filter(({ kind, version: one }) => kind.group === group && one === version)
    .map(({ kind: { resource, namespaced, kind } }) => ({ name: resource, namespaced, kind }));
  if (resources.length === 0) return undefined;
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/${version}`, resources };
}
