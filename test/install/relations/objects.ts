import { expect } from 'vitest';
import { INSTALLED_NAME } from '../../../src/api/paths.ts';
import { IMAGE_ANNOTATION } from '../../../src/install/installation.ts';
import { FLAG_LABEL_PREFIX } from '../../../src/install/profiles.ts';
import { type KindVersion, KindCatalog } from '../../../src/manifests/schemas.ts';
import { validateValue } from '../../../src/manifests/validate.ts';
import { RENDER_OPTIONS, type RenderedObject, type RenderedSet } from '../rendered-sets.ts';
import type { Relation } from './relation.ts';

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
    check: ({ sets }) => {
      for (const { objects } of sets)
        for (const object of objects)
          expect({ object: describe(object), problems: findProblems(object) }).toMatchObject({ problems: [] });
    },
  },
  {
    rule: 'every object has the labels by which uninstall finds it, and the version',
    check: ({ sets }) => {
      for (const { objects } of sets)
        for (const { metadata } of objects) {
          for (const label of OWNER_LABELS) expect(metadata.labels?.[label]).toBe(INSTALLED_NAME);
          expect(metadata.labels?.['app.kubernetes.io/version']).toMatch(/^\d+\.\d+\.\d+$/);
        }
    },
  },
  {
    rule: 'every object is in the namespace of the guard, or where OpenShift and Kubernetes look for it',
    check: ({ sets }) => {
      for (const { objects } of sets)
        for (const object of objects) {
          const { kind, metadata } = object;
          const expected = NAMESPACE_BY_KIND[kind] ?? NAMESPACE_BY_KIND[describe(object)] ?? INSTALLED_NAME;
          expect(metadata.namespace).toBe(isNamespaced(object) ? expected : undefined);
        }
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

function describe({ kind, metadata }: RenderedObject): string {
  return `${kind} ${metadata.name}`;
}

function findVersions({ apiVersion, kind }: RenderedObject): readonly KindVersion[] {
  const versions = CATALOG.find(apiVersion, kind);
  if (versions.length === 0) expect(UNKNOWN_KINDS).toContain(`${apiVersion} ${kind}`);
  return versions;
}

/** What the newest release rejects or ignores. */
function findProblems(object: RenderedObject): readonly string[] {
  const text = JSON.stringify(object);
  const known = problemsByText.get(text);
  if (known !== undefined) return known;
  const newest = findVersions(object).at(-1);
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
