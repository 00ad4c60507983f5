import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readManifestFile } from '../../src/install/manifest-files.ts';

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: {
          readonly properties: {
            readonly spec: {
              readonly properties: Readonly<Record<string, { readonly default?: string }>>;
            };
          };
        };
      };
    }[];
  };
}

interface Policy {
  readonly spec: {
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly { readonly expression: string }[];
  };
}

test('the settings policy compares every setting of the CRD with its default', () => {
  const crd = parse(readManifestFile('base/crd.yaml')) as Crd;
  const policy = parse(readManifestFile('base/settings-policy.yaml')) as Policy;
  const settings = crd.spec.versions.flatMap(({ schema }) =>
    Object.entries(schema.openAPIV3Schema.properties.spec.properties),
  );
  expect(policy.spec.variables).toEqual(
    settings.map(([name, { default: value = '' }]) => ({ name, expression: `'${value}'` })),
  );
  const [{ expression } = { expression: '' }] = policy.spec.validations;
  expect(expression.split('&&').map((part) => part.trim())).toEqual([
    "object.metadata.name == 'cluster'",
    ...settings.map(
      ([name, { default: value = '' }]) => `object.?spec.?${name}.orValue('${value}') == variables.${name}`,
    ),
  ]);
});
