import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import { buildInstallation } from '../../src/install/installation.ts';
import { planRotation, RotationError, type RotationInput } from '../../src/install/rotation.ts';
import { DEFAULT_OPTIONS } from './installation-options.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const NEW = await createAuthority({ days: 30, now: NOW });
const OLD = DEFAULT_OPTIONS.authority;

type Metadata = { annotations?: Record<string, string>; resourceVersion?: string };
type Configuration = {
  metadata: Metadata;
  webhooks: {
    name: string;
    clientConfig: { caBundle: string };
  }[];
};
type Secret = { metadata: Metadata; data: Record<string, string> };
type Change = (configuration: Configuration, secret: Secret) => void;

function parseRendered(kind: string): unknown {
  return parse(buildInstallation(DEFAULT_OPTIONS).files.find((file) => file.kind === kind)?.content ?? '');
}

/** The rendered objects with the fields that the API server and kubectl add. */
function createInput(change: Change = () => {}): RotationInput {
  const configuration = parseRendered('ValidatingWebhookConfiguration') as Configuration;
  const secret = parseRendered('Secret') as Secret;
  configuration.metadata.resourceVersion = '7';
  const lastApplied = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(secret) };
  secret.metadata.annotations = { ...lastApplied, mine: 'yes' };
  change(configuration, secret);
  return { webhookConfiguration: configuration, secret };
}

function encode(...pems: string[]): string {
  return Buffer.from(pems.join('')).toString('base64');
}

function setBundle({ webhooks: [webhook] }: Configuration, caBundle: string): void {
  if (webhook !== undefined) webhook.clientConfig.caBundle = caBundle;
}

function bundleOf({ webhooks: [webhook] }: Configuration): string | undefined {
  return webhook?.clientConfig.caBundle;
}

function renderSteps(input: RotationInput): [first: Configuration, second: Secret, third: Configuration] {
  const files = planRotation(input, NOW).renderFiles(NEW);
  expect(files.map(({ name, isPrivate }) => [name, isPrivate])).toEqual([
    ['1-trust-both.yaml', false],
    ['2-issue-from-new.yaml', true],
    ['3-trust-new.yaml', false],
  ]);
  return files.map(({ content }) => parse(content) as unknown) as [Configuration, Secret, Configuration];
}

test('trusts both authorities, issues from the new one, then trusts only the new one', () => {
  const [first, second, third] = renderSteps(createInput());
  expect(bundleOf(first)).toBe(encode(OLD.certificatePem, NEW.certificatePem));
  expect(second.data).toEqual({
    'ca.crt': encode(NEW.certificatePem),
    'ca.key': encode(NEW.privateKeyPem),
  });
  expect(bundleOf(third)).toBe(encode(NEW.certificatePem));
});

test('changes only the own caBundle, and omits fields of the API server and kubectl', () => {
  const other = { name: 'other.example.com', clientConfig: { caBundle: 'b3RoZXI=' } };
  const [first, second] = renderSteps(createInput(({ webhooks }) => webhooks.push(other)));
  const expected = parseRendered('ValidatingWebhookConfiguration') as Configuration;
  setBundle(expected, bundleOf(first) ?? '');
  expected.webhooks.push(other);
  expect(first).toEqual(expected);
  expect(second.metadata.annotations).toEqual({ mine: 'yes' });
});

test('after an unfinished rotation, starts from the authority in the Secret', () => {
  const both = encode(OLD.certificatePem, NEW.certificatePem);
  const input = createInput((configuration) => {
    setBundle(configuration, both);
  });
  expect(planRotation(input, NOW).leftOver).toBe(1);
  expect(bundleOf(renderSteps(input)[0])).toBe(both);
});

test.each<[string, Change, RegExp]>([
  [
    'cert-manager makes the certificates',
    ({ metadata }) => void (metadata.annotations = { 'cert-manager.io/inject-ca-from': 'a/b' }),
    /cert-manager/,
  ],
  ['the webhook is missing', ({ webhooks }) => void webhooks.splice(0), /has no webhook guard\./],
  ['the caBundle is invalid', (object) => void setBundle(object, 'Z2Fy'), /contains no certificate/],
  [
    'the caBundle has another authority',
    (object) => void setBundle(object, encode(NEW.certificatePem)),
    /calls already fail/,
  ],
  ['the Secret is empty', (_object, secret) => void (secret.data = {}), /no certificate in ca\.crt/],
])('throws a RotationError if %s', (_condition, change, message) => {
  const plan = () => planRotation(createInput(change), NOW);
  expect(plan).toThrow(RotationError);
  expect(plan).toThrow(message);
});
