import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { formatHelpNote } from '../../src/decision/codes.ts';
import { isObjectName, parsePoolName, toConfigName } from '../../src/decision/config-name.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import { readManifestFile } from '../../src/install/manifest-files.ts';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import { readField } from './read-field.ts';

type Expressions = readonly Readonly<Record<'name' | 'key' | 'expression' | 'messageExpression', string>>[];

function read(file: string, keys: string): unknown {
  return readField(parse(readManifestFile(file)), keys);
}

function findExpression(file: string, variable: string): string | undefined {
  return (read(file, 'spec.variables') as Expressions).find(({ name }) => name === variable)?.expression;
}

/** In one piece. */
function readMessage(file: string): string {
  return String(read(file, 'spec.validations.0.messageExpression')).replaceAll(/'\s+\+ '/g, '');
}

const WEBHOOKS = read('base/webhook.yaml', 'webhooks') as readonly object[];

test('the webhook is the one that dev registers, with the Service instead of a URL', () => {
  const clientConfig = { url: 'https://127.0.0.1:9443/validate', caBundle: 'x' };
  const { webhooks } = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
  expect(webhooks).toEqual(WEBHOOKS.map((webhook) => ({ ...webhook, clientConfig })));
});

test.each(['nodes', 'pools'])(
  'the policy of %s has the code, annotation, audit keys and rules of the guard',
  (name) => {
    const policy = `overlays/policy-floor/${name}-policy.yaml`;
    expect(readMessage(policy)).toContain(formatHelpNote('MCG_IN_USE'));
    expect(findExpression(policy, 'text')).toBe(
      `oldObject.metadata.?annotations[?'${ALLOW_DELETION_ANNOTATION}'].orValue('').trim()`,
    );
    const annotations = read(policy, 'spec.auditAnnotations') as Expressions;
    expect(annotations.map(({ key }) => key)).toEqual(['denied', 'overridden']);
    expect(read(policy, 'spec.failurePolicy')).toBe('Fail');
    const rules = read(policy, 'spec.matchConstraints.resourceRules');
    expect(rules).toEqual(read('base/webhook.yaml', 'webhooks.0.rules'));
  },
);

const REFERENCE_POLICY = 'components/reference-policy/policy.yaml';
const HASH = '0123456789abcdef'.repeat(2);

test('the reference policy has the code and help of the guard, and an expression that fails blocks no write', () => {
  expect(readMessage(REFERENCE_POLICY)).toContain(formatHelpNote('MCG_UNKNOWN_CONFIG'));
  expect(readMessage(REFERENCE_POLICY)).toMatch(/^'MCG_UNKNOWN_CONFIG: /);
  expect(read(REFERENCE_POLICY, 'spec.failurePolicy')).toBe('Ignore');
});

test.each([
  `rendered-worker-${HASH}`,
  `rendered-infra.zone-1-${HASH}`,
  `rendered-a--b-${HASH}`,
  `render-worker-${HASH}`,
  `rendered-${HASH}`,
  `rendered--${HASH}`,
  `rendered-Worker-${HASH}`,
  `rendered-worker-${HASH}0`,
  `rendered-worker-${HASH.slice(1)}`,
  `rendered-worker-${HASH.toUpperCase()}`,
  `rendered-worker-${HASH}\n`,
  `rendered-worker-${HASH} `,
  `rendered-.a-${HASH}`,
  '99-worker-ssh',
])('the reference policy accepts %j if the guard finds a pool name in it', (name) => {
  const expression = findExpression(REFERENCE_POLICY, 'wrongFields') ?? '';
  const pattern = /'(?<text>\^rendered-.*\$)'/.exec(expression)?.groups?.['text'] ?? '';
  const pool = isObjectName(name) ? (parsePoolName(toConfigName(name)) ?? '') : '';
  expect(new RegExp(pattern).test(name)).toBe(isObjectName(pool));
});

test('the settings policy compares every setting of the CRD with its default, and the mode always has one', () => {
  const spec = 'spec.versions.0.schema.openAPIV3Schema.properties.spec';
  const properties = read('base/crd.yaml', `${spec}.properties`) as Record<string, { readonly default?: string }>;
  // Else the column MODE would be blank.
  expect([read('base/crd.yaml', `${spec}.default`), properties['mode']?.default]).toEqual([{}, 'Enforce']);
  const settings = Object.entries(properties).map(([name, field]) => [name, `'${field.default ?? ''}'`] as const);
  const variables = read('base/settings-policy.yaml', 'spec.variables');
  const expression = String(read('base/settings-policy.yaml', 'spec.validations.0.expression'));
  expect(variables).toEqual(settings.map(([name, text]) => ({ name, expression: text })));
  expect(expression.split('&&').map((part) => part.trim())).toEqual([
    "object.metadata.name == 'cluster'",
    ...settings.map(([name, text]) => `object.?spec.?${name}.orValue(${text}) == variables.${name}`),
  ]);
});
