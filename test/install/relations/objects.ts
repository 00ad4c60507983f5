import { expect } from 'vitest';
import { INSTALLED_NAME } from '../../../src/api/paths.ts';
import { IMAGE_ANNOTATION } from '../../../src/install/installation.ts';
import { FLAG_LABEL_PREFIX } from '../../../src/install/profiles.ts';
import { type KindVersion, KindCatalog } from '../../../src/manifests/schemas.ts';
import { validateValue } from '../../../src/manifests/validate.ts';
import { RENDER_OPTIONS, type RenderedObject, type RenderedSet } from '../rendered-sets.ts';
import type { Installed, Relation } from './relation.ts';

/** Where objects outside of the guard's namespace must be. OpenShift reads them there. */
const NAMESPACE_BY_KIND: Readonly<Record<string, string>> = {
  AlertingRule: 'openshift-monitoring',
  'Role machineconfig-guard-events': 'default',
  'RoleBinding machineconfig-guard-events': 'default',
};
/** Renders a set with a guard. */
const GUARD_COMMAND = /^render(?: --(?!profile=(?!fail-)).*)?$/;
/** What `render --from-cluster` finds out itself, or must not repeat. */
const UNLABELED_FLAG = /^--(?:openshift-version|new-authority)/;
const OWNER_LABELS = ['name', 'managed-by', 'part-of'].map((key) => `app.kubernetes.io/${key}`);
/** Of other operators than those of a new cluster. */
const UNKNOWN_KINDS = new Set(['cert-manager.io/v1 Certificate', 'cert-manager.io/v1 Issuer']);
const CATALOG = KindCatalog.shared();
/** Of each object, by its text. Most objects are the same in most sets. */
const problemsByText = new Map<string, readonly string[]>();

export const OBJECT_RELATIONS: readonly Relation[] = [
  {
    rule: 'the API servers that a set is for accept each object, and ignore none of its fields',
    check: (installed) => expect(findInObjects(installed, findProblems)).toEqual([]),
  },
  {
    rule: 'every object has the labels by which uninstall finds it, and the version',
    check: (installed) => {
      const findWrongLabel = ({ metadata: { labels = {} } }: RenderedObject) => {
        const hasVersion = /^\d+\.\d+\.\d+$/.test(labels['app.kubernetes.io/version'] ?? '');
        return [
          ...OWNER_LABELS.filter((label) => labels[label] !== INSTALLED_NAME),
          ...(hasVersion ? [] : ['version']),
        ];
      };
      expect(findInObjects(installed, findWrongLabel)).toEqual([]);
    },
  },
  {
    rule: 'every object is in the namespace of the guard, or where OpenShift and Kubernetes look for it',
    check: (installed) => {
      const findWrongNamespace = (object: RenderedObject) => {
        const { kind, metadata } = object;
        const wanted = NAMESPACE_BY_KIND[kind] ?? NAMESPACE_BY_KIND[describe(object)] ?? INSTALLED_NAME;
        const expected = isNamespaced(object) ? wanted : undefined;
        return metadata.namespace === expected ? [] : [`${metadata.namespace} instead of ${expected}`];
      };
      expect(findInObjects(installed, findWrongNamespace)).toEqual([]);
    },
  },
  {
    rule: 'the flags of an installation are labels of its Deployment, and no object has another flag',
    check: ({ sets }) => {
      for (const set of sets.filter(({ name }) => GUARD_COMMAND.test(name))) {
        const flags = listFlags(set);
        for (const { kind, metadata } of set.objects) {
          const labels = Object.entries(metadata.labels ?? {}).filter(([label]) => label.startsWith(FLAG_LABEL_PREFIX));
          if (kind === 'Deployment') expect(Object.fromEntries(labels)).toEqual(flags);
          else expect(flags).toMatchObject(Object.fromEntries(labels));
        }
      }
    },
  },
  {
    rule: 'the webhook configuration has the image and the flags, because it outlives the Deployment',
    check: ({ sets }) => {
      for (const set of sets.filter(({ name }) => GUARD_COMMAND.test(name))) {
        const { 'render.machineconfig-guard.io/single-node': _ofDeployment, ...flags } = listFlags(set);
        const configuration = set.objects.find(({ kind }) => kind === 'ValidatingWebhookConfiguration');
        expect(configuration?.metadata.labels).toMatchObject(flags);
        expect(configuration?.metadata.annotations?.[IMAGE_ANNOTATION]).toBe(RENDER_OPTIONS.image);
      }
    },
  },
];

/** One assertion for all objects, because there are hundreds. */
function findInObjects({ sets }: Installed, find: (object: RenderedObject) => readonly string[]): readonly string[] {
  return sets.flatMap(({ name, objects }) =>
    objects.flatMap((object) => find(object).map((problem) => `${name}: ${describe(object)}: ${problem}`)),
  );
}

function describe({ kind, metadata }: RenderedObject): string {
  return `${kind} ${metadata.name}`;
}

function findVersions({ apiVersion, kind }: RenderedObject): readonly KindVersion[] {
  return CATALOG.find(apiVersion, kind);
}

/** What the newest release rejects or ignores. */
function findProblems(object: RenderedObject): readonly string[] {
  const text = JSON.stringify(object);
  const known = problemsByText.get(text);
  if (known !== undefined) return known;
  const newest = findVersions(object).at(-1);
  const name = `${object.apiVersion} ${object.kind}`;
  if (newest === undefined && !UNKNOWN_KINDS.has(name)) return [`${name} is unknown`];
  const { schema, isGo = false } = newest ?? { schema: {} };
  const problems = validateValue(object, schema, { isGo }).map(({ path, must }) => `${path.join('.')}: ${must}`);
  problemsByText.set(text, problems);
  return problems;
}

function isNamespaced(object: RenderedObject): boolean {
  const versions = findVersions(object);
  return versions.length === 0 || versions.some((version) => version.isNamespaced === true);
}

/** The labels of the command that renders a set, with the defaults of the flags that it does not have. */
function listFlags({ name }: RenderedSet): Readonly<Record<string, string>> {
  const given = name.split(' ').filter((flag) => flag.startsWith('--') && !UNLABELED_FLAG.test(flag));
  const flags = given.map((flag) => flag.slice(2).split('=') as [string, string?]);
  const defaults = { profile: 'fail-closed', tls: 'generated' };
  const values: Readonly<Record<string, string | undefined>> = { ...defaults, ...Object.fromEntries(flags) };
  return Object.fromEntries(Object.entries(values).map(([flag, value]) => [FLAG_LABEL_PREFIX + flag, value ?? 'true']));
}
