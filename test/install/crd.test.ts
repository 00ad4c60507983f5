import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readManifestFile } from '../../src/install/manifest-files.ts';

interface Schema {
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly additionalPrinterColumns: readonly { readonly name: string; readonly jsonPath: string }[];
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

test('the column MODE is never blank: its field has a default in the schema', () => {
  const { versions } = (parse(readManifestFile('base/crd.yaml')) as Crd).spec;
  const [version] = versions;
  if (version === undefined) throw new Error('the CRD has no version');
  const { additionalPrinterColumns: columns, schema } = version;
  expect(columns.find(({ name }) => name === 'Mode')?.jsonPath).toBe('.spec.mode');
  const spec = schema.openAPIV3Schema.properties?.['spec'];
  expect([spec?.default, spec?.properties?.['mode']?.default]).toEqual([{}, 'Enforce']);
});
