import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import { formatHelpNote } from '../../src/decision/codes.ts';

interface Policy {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly failurePolicy: string;
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly { readonly messageExpression: string }[];
    readonly auditAnnotations: readonly { readonly key: string }[];
    readonly matchConstraints: { readonly resourceRules: readonly object[] };
  };
}

function read(name: string): unknown {
  return parse(readFileSync(new URL(`../../manifests/${name}`, import.meta.url), 'utf8'));
}

test.each(['nodes', 'pools'])(
  'the policy of %s has the code, annotation, audit keys and rules of the guard',
  (name) => {
    const policy = read(`overlays/policy-floor/${name}-policy.yaml`) as Policy;
    const { webhooks } = read('base/webhook.yaml') as {
      webhooks: readonly { readonly rules: readonly object[] }[];
    };
    const message = policy.spec.validations[0]?.messageExpression ?? '';
    expect(message.replaceAll(/'\s+\+ '/g, '')).toContain(formatHelpNote('MCG_IN_USE'));
    const text = policy.spec.variables.find((variable) => variable.name === 'text');
    expect(text?.expression).toBe(
      `oldObject.metadata.?annotations[?'${ALLOW_DELETION_ANNOTATION}'].orValue('').trim()`,
    );
    expect(policy.spec.auditAnnotations.map(({ key }) => key)).toEqual(['denied', 'overridden']);
    expect(policy.spec.failurePolicy).toBe('Fail');
    expect(policy.spec.matchConstraints.resourceRules).toEqual(webhooks[0]?.rules);
  },
);
