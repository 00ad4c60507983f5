/** A copy of an object with one fault, and what was changed. */
export interface Mutation {
  readonly what: string;
  readonly object: object;
}

type Json = Readonly<Record<string, unknown>>;

/** OpenShift's API server checks them with admission plugins, which the lab does not have. */
const ADMITTED_KIND = /^(?:APIServer|ClusterResourceQuota|OAuth|SecurityContextConstraints)$/;

/** What people write by mistake instead of a value. Undefined deletes it. */
function listReplacements(value: unknown): readonly unknown[] {
  if (typeof value === 'string') return [5, true, '', 'Not A Value!', [value], { a: value }, null, undefined];
  if (typeof value === 'number') return [String(value), -1, 1.5, 3_000_000_000, true, null, undefined];
  if (typeof value === 'boolean') return [String(value), 1, null, undefined];
  if (Array.isArray(value)) return ['a', {}, [], [...(value as unknown[]), ...(value as unknown[])], null, undefined];
  return ['a', [], {}, null, undefined, { ...(value as Json), unknownField: 1 }];
}

/** Each copy of an object with one value replaced, and copies with a wrong kind or apiVersion. */
export function mutate(object: object): Mutation[] {
  const { apiVersion, kind } = object as { readonly apiVersion: string; readonly kind: string };
  const kinds = [`${kind}s`, kind.slice(0, -1), kind.toLowerCase()].map((wrong) => {
    return { what: `kind ${wrong}`, object: { ...object, kind: wrong } };
  });
  const versions = [apiVersion.replace(/v\d\w*$/, 'v7'), `x${apiVersion}`].map((wrong) => {
    return { what: `apiVersion ${wrong}`, object: { ...object, apiVersion: wrong } };
  });
  if (ADMITTED_KIND.test(kind)) return [...kinds, ...versions];
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object as Json;
  const others = mutateValues(rest, []).map(({ what, object: changed }) => {
    return { what, object: { apiVersion, kind, ...changed } };
  });
  return [...kinds, ...versions, ...others];
}

function mutateValues(collection: object, path: readonly string[]): Mutation[] {
  return Object.entries(collection).flatMap(([key, value]: [string, unknown]) => {
    const inner = [...path, key];
    const replaced = listReplacements(value).map((replacement) => {
      const what = `${inner.join('.')} = ${JSON.stringify(replacement)}`;
      return { what, object: replace(collection, key, replacement) };
    });
    if (typeof value !== 'object' || value === null) return replaced;
    const deeper = mutateValues(value, inner);
    return [...replaced, ...deeper.map(({ what, object }) => ({ what, object: replace(collection, key, object) }))];
  });
}

function replace(collection: object, key: string, value: unknown): object {
  if (Array.isArray(collection)) {
    const items = collection as readonly unknown[];
    return value === undefined ? items.toSpliced(Number(key), 1) : items.with(Number(key), value);
  }
  const { [key]: _old, ...others } = collection as Json;
  return value === undefined ? others : { ...collection, [key]: value };
}
