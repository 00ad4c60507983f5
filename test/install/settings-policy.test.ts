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
  readonly spec: { readonly validations: readonly { readonly expression: string }[] };
}

test('the settings policy allows every setting of the CRD only with its default or absent', () => {
  const crd = parse(readManifestFile('base/crd.yaml')) as Crd;
  const policy = parse(readManifestFile('base/settings-policy.yaml')) as Policy;
  const settings = crd.spec.versions.map(
    ({ schema }) => schema.openAPIV3Schema.properties.spec.properties,
  );
  const checks = settings.flatMap((properties) =>
    Object.entries(properties).map(([name, { default: value }]) => {
      if (value === undefined) return `!object.?spec.?${name}.hasValue()`;
      return `object.?spec.?${name}.orValue('${value}') == '${value}'`;
    }),
  );
  const [{ expression } = { expression: '' }] = policy.spec.validations;
  expect(expression.split('&&').map((part) => part.trim())).toEqual([
    "object.metadata.name == 'cluster'",
    ...checks,
  ]);
});
