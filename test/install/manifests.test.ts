import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readPackageFile } from '../../src/files/package-file.ts';
import { buildManifests } from '../../src/install/kustomization.ts';
import { readField } from './read-field.ts';
import { parsePoolName, toConfigName } from '../../src/mco/machine-config.ts';
import { isObjectName } from '../../src/kube/api-object.ts';
import { formatHelpNote } from '../../src/review/decide.ts';

function read(file: string, keys: string): unknown {
  return readField(parse(readPackageFile(`manifests/${file}`)), keys);
}

const REFERENCE_POLICY = 'components/reference-policy/policy.yaml';
const HASH = '0123456789abcdef'.repeat(2);

test.each([
  ['overlays/policy-floor/nodes-policy.yaml', 'MCG_IN_USE'],
  ['overlays/policy-floor/pools-policy.yaml', 'MCG_IN_USE'],
  [REFERENCE_POLICY, 'MCG_UNKNOWN_CONFIG'],
] as const)('the message of %s ends with the help for %s', (policy, code) => {
  const message = String(read(policy, 'spec.validations.0.messageExpression')).replaceAll(/'\s+\+ '/g, '');
  expect(message).toContain(formatHelpNote(code));
});

test.each([
  `rendered-worker-${HASH}`,
  `rendered-infra.zone-1--a-${HASH}`,
  `render-worker-${HASH}`,
  `rendered-${HASH}`,
  `rendered--${HASH}`,
  `rendered-Worker-${HASH}`,
  `rendered-worker-${HASH}0`,
  `rendered-worker-${HASH.slice(1)}`,
  `rendered-worker-${HASH.toUpperCase()}`,
  `rendered-worker-${HASH}\n`,
  `rendered-.a-${HASH}`,
])('the reference policy accepts %j if the guard finds a pool name in it', (name) => {
  const variables = JSON.stringify(read(REFERENCE_POLICY, 'spec.variables'));
  const [, pattern = ''] = /'(\^rendered-.*?\$)'/.exec(variables) ?? [];
  const pool = isObjectName(name) ? (parsePoolName(toConfigName(name)) ?? '') : '';
  expect(new RegExp(pattern).test(name)).toBe(isObjectName(pool));
});

test.each(['openshift-4.16', 'openshift-4.15', 'openshift-4.14'])(
  'a build with %s fails if the guard fails open, because the release has no policy floor',
  (component) => {
    const build = (overlay: string) => buildManifests([`overlays/${overlay}`, `components/${component}`]);
    expect(() => build('fail-open-with-floor')).toThrow('testing value /webhooks/0/failurePolicy failed');
    expect(build('service-ca')).not.toEqual([]);
    const buildReversed = () => buildManifests(['base', `components/${component}`, 'components/fail-open-with-floor']);
    expect(buildReversed).toThrow('there is no ValidatingAdmissionPolicy settings.machineconfig-guard.io');
  },
);

test('the settings policy compares every setting of the CRD with its default', () => {
  const properties = read('base/crd.yaml', 'spec.versions.0.schema.openAPIV3Schema.properties.spec.properties');
  const settings = Object.entries(properties as Record<string, { readonly default?: string }>);
  const expression = String(read('base/settings-policy.yaml', 'spec.validations.0.expression'));
  expect(expression.split('&&').map((part) => part.trim())).toEqual([
    "object.metadata.name == 'cluster'",
    ...settings.map(([name, field]) => {
      return `object.?spec.?${name}.orValue('${field.default ?? ''}') == variables.${name}`;
    }),
  ]);
});
