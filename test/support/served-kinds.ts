import { type Kind, KINDS, parseResourcePath, toApiVersion } from '../../src/demo/cluster/kinds.ts';

interface Answer {
  readonly status: number;
  readonly body: string | Readonly<Record<string, unknown>>;
}

const NOT_FOUND: Answer = { status: 404, body: '404 page not found\n' };

/** The kinds whose CRDs exist, as discovery lists them. By default each has its preferred version. */
export class ServedKinds {
  readonly #versions = new Map<Kind, readonly string[]>(KINDS.map((kind) => [kind, kind.versions.slice(0, 1)]));

  set(kind: Kind, versions: readonly string[]) {
    this.#versions.set(kind, versions);
  }

  answer(path: string): Answer | undefined {
    const served = [...this.#versions].flatMap(([kind, versions]) => versions.map((version) => ({ kind, version })));
    if (path === '/apis') {
      const groups = served.map(({ kind, version }) => ({ name: kind.group, versions: [{ version }] }));
      return { status: 200, body: { kind: 'APIGroupList', groups } };
    }
    const [, groupVersion] = /^\/apis\/(?<groupVersion>[^/]+\/[^/]+)$/.exec(path) ?? [];
    if (groupVersion === undefined) {
      const target = parseResourcePath(path);
      if (target === undefined) return undefined;
      return this.#versions.get(target.kind)?.includes(target.version) === true ? undefined : NOT_FOUND;
    }
    const resources = served
      .filter(({ kind, version }) => toApiVersion(kind, version) === groupVersion)
      .map(({ kind }) => ({ name: kind.resource }));
    return resources.length === 0 ? NOT_FOUND : { status: 200, body: { kind: 'APIResourceList', resources } };
  }
}
