import type { V1PolicyRule } from '@kubernetes/client-node';
import type { SeenRequest } from './faults.ts';

interface Right {
  readonly verb: string;
  readonly group: string;
  /** With its subresource. */
  readonly resource: string;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

/** The program knows the names of these objects before it reads them. */
const NAMED = new Set([
  'apiservers',
  'clusteroperators',
  'configmaps',
  'deployments',
  'leases',
  'machineconfigguards',
  'secrets',
]);
const PATH = new RegExp(
  String.raw`^/(?:api|apis/(?<group>[^/]+))/[^/]+(?:/namespaces/(?<namespace>[^/]+))?` +
    String.raw`/(?<resource>[^/]+)(?:/(?<name>[^/]+)(?<subresource>/\w+)?)?$`,
);
const VERBS: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'patch', DELETE: 'delete', PUT: 'update' };

/** `VERB RESOURCE.GROUP[/NAME] [in NAMESPACE]`. */
function formatRight({ verb, group, resource, name, namespace }: Right): string {
  const kind = group === '' ? resource : `${resource}.${group}`;
  return `${verb} ${kind}${name === undefined ? '' : `/${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}

/** The rights that a rule of a role gives. */
export function expandRule(rule: Partial<V1PolicyRule>, namespace?: string): readonly string[] {
  const { apiGroups = [], resources = [], resourceNames = [undefined], verbs = [] } = rule;
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      resourceNames.flatMap((name) => verbs.map((verb) => formatRight({ verb, group, resource, name, namespace }))),
    ),
  );
}

/** The right that a request needs. Discovery and the version need none: every authenticated user has it. */
export function toRight({ method, path, isWatch }: SeenRequest): readonly string[] {
  const { group = '', namespace, resource, name, subresource = '' } = PATH.exec(path)?.groups ?? {};
  if (resource === undefined) return /^\/(?:apis|version)\b/.test(path) ? [] : [`${method} ${path}`];
  const read = name === undefined ? 'list' : 'get';
  const verb = isWatch ? 'watch' : (VERBS[method] ?? read);
  const known = NAMED.has(resource) ? name : undefined;
  return [formatRight({ verb, group, resource: resource + subresource, name: known, namespace })];
}
