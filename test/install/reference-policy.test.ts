import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { formatHelpNote } from '../../src/decision/codes.ts';
import { isObjectName, parsePoolName, toConfigName } from '../../src/decision/config-name.ts';

interface Policy {
  readonly spec: {
    readonly failurePolicy: string;
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly { readonly messageExpression: string }[];
  };
}

const file = new URL('../../manifests/components/reference-policy/policy.yaml', import.meta.url);
const { spec } = parse(readFileSync(file, 'utf8')) as Policy;
const HASH = '0123456789abcdef'.repeat(2);

function findExpression(name: string): string {
  return spec.variables.find((variable) => variable.name === name)?.expression ?? '';
}

test('the message has the code and the help of the guard, and an expression that fails blocks no write', () => {
  const message = spec.validations[0]?.messageExpression ?? '';
  expect(message.replaceAll(/'\s+\+ '/g, '')).toContain(formatHelpNote('MCG_UNKNOWN_CONFIG'));
  expect(message).toMatch(/^'MCG_UNKNOWN_CONFIG: /);
  expect(spec.failurePolicy).toBe('Ignore');
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
])('the pattern accepts %j if the guard finds a pool name in it', (name) => {
  const pattern = /'(?<text>\^rendered-.*\$)'/.exec(findExpression('wrongFields'))?.groups?.['text'] ?? '';
  const pool = isObjectName(name) ? (parsePoolName(toConfigName(name)) ?? '') : '';
  expect(new RegExp(pattern).test(name)).toBe(isObjectName(pool));
});
