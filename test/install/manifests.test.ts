import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { formatHelpNote } from '../../src/decision/codes.ts';
import { isObjectName, parsePoolName, toConfigName } from '../../src/decision/config-name.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import { readManifestFile } from '../../src/install/manifest-files.ts';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';

interface Expression {
  readonly name: string;
  readonly expression: string;
}

interface Policy {
  readonly spec: {
    readonly failurePolicy: string;
    readonly variables: readonly Expression[];
    readonly validations: readonly { readonly expression: string; readonly messageExpression: string }[];
    readonly auditAnnotations: readonly { readonly key: string }[];
    readonly matchConstraints: { readonly resourceRules: readonly object[] };
  };
}

interface WebhookConfiguration {
  readonly webhooks: readonly { readonly rules: readonly object[] }[];
}

interface Schema {
  /** An object for `spec`. */
  readonly default?: string;
  readonly properties: Readonly<Record<string, Schema>>;
}

interface Crd {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
}

function read(name: string): unknown {
  return parse(readManifestFile(name));
}

function findExpression({ spec }: Policy, name: string): string | undefined {
  return spec.variables.find((variable) => variable.name === name)?.expression;
}

/** In one piece. */
function readMessage({ spec }: Policy): string {
  return spec.validations[0]?.messageExpression.replaceAll(/'\s+\+ '/g, '') ?? '';
}

const WEBHOOK = read('base/webhook.yaml') as WebhookConfiguration;

test('the webhook is the one that dev registers, with the Service instead of a URL', () => {
  const clientConfig = { url: 'https://127.0.0.1:9443/validate', caBundle: 'x' };
  const { webhooks } = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
  expect(webhooks).toEqual(WEBHOOK.webhooks.map((webhook) => ({ ...webhook, clientConfig })));
});

test.each(['nodes', 'pools'])(
  'the policy of %s has the code, annotation, audit keys and rules of the guard',
  (name) => {
    const policy = read(`overlays/policy-floor/${name}-policy.yaml`) as Policy;
    expect(readMessage(policy)).toContain(formatHelpNote('MCG_IN_USE'));
    expect(findExpression(policy, 'text')).toBe(
      `oldObject.metadata.?annotations[?'${ALLOW_DELETION_ANNOTATION}'].orValue('').trim()`,
    );
    const { auditAnnotations, failurePolicy, matchConstraints } = policy.spec;
    expect(auditAnnotations.map(({ key }) => key)).toEqual(['denied', 'overridden']);
    expect(failurePolicy).toBe('Fail');
    expect(matchConstraints.resourceRules).toEqual(WEBHOOK.webhooks[0]?.rules);
  },
);

const REFERENCE_POLICY = read('components/reference-policy/policy.yaml') as Policy;
const HASH = '0123456789abcdef'.repeat(2);

test('the reference policy has the code and help of the guard, and an expression that fails blocks no write', () => {
  expect(readMessage(REFERENCE_POLICY)).toContain(formatHelpNote('MCG_UNKNOWN_CONFIG'));
  expect(readMessage(REFERENCE_POLICY)).toMatch(/^'MCG_UNKNOWN_CONFIG: /);
  expect(REFERENCE_POLICY.spec.failurePolicy).toBe('Ignore');
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
  const [{ schema }] = (read('base/crd.yaml') as Crd).spec.versions as [Crd['spec']['versions'][0]];
  const { default: emptySpec, properties } = schema.openAPIV3Schema.properties['spec'] ?? { properties: {} };
  // Else the column MODE would be blank.
  expect([emptySpec, properties['mode']?.default]).toEqual([{}, 'Enforce']);
  const settings = Object.entries(properties).map(([name, field]) => [name, `'${field.default ?? ''}'`] as const);
  const { variables, validations } = (read('base/settings-policy.yaml') as Policy).spec;
  expect(variables).toEqual(settings.map(([name, expression]) => ({ name, expression })));
  expect(validations[0]?.expression.split('&&').map((part) => part.trim())).toEqual([
    "object.metadata.name == 'cluster'",
    ...settings.map(([name, text]) => `object.?spec.?${name}.orValue(${text}) == variables.${name}`),
  ]);
});
