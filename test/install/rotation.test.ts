import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { type Authority, createAuthority } from '../../src/certificates/authority.ts';
import { buildInstallation } from '../../src/install/installation.ts';
import { RotationError, planRotation, type RotationInput } from '../../src/install/rotation.ts';
import { PLAIN } from './options.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const FRESH = await createAuthority({ days: 30, now: NOW });
const OLD = PLAIN.authority as Authority;

interface Webhooks {
  metadata: { annotations?: Record<string, string>; resourceVersion?: string; managedFields?: unknown };
  webhooks: { name: string; clientConfig: { caBundle: string } }[];
}

interface Secret {
  metadata: { annotations?: Record<string, string> };
  data: Record<string, string>;
}

/** As the API server has them: with what it adds, and with what kubectl remembers. */
function start(change: (webhooks: Webhooks, secret: Secret) => void = () => {}): RotationInput {
  const { files } = buildInstallation(PLAIN);
  const of = (kind: string): unknown => parse(files.find((file) => file.kind === kind)?.content ?? '');
  const [webhooks, secret] = [of('ValidatingWebhookConfiguration') as Webhooks, of('Secret') as Secret];
  webhooks.metadata.resourceVersion = '7';
  webhooks.metadata.managedFields = [];
  secret.metadata.annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(secret),
    mine: 'yes',
  };
  change(webhooks, secret);
  return { webhookConfiguration: webhooks, secret };
}

function bundle(...pems: string[]): string {
  return Buffer.from(pems.join('')).toString('base64');
}

function steps(from: RotationInput): [first: Webhooks, second: Secret, third: Webhooks] {
  const files = planRotation(from, NOW).renderFiles(FRESH);
  expect(files.map(({ name, secret }) => [name, secret])).toEqual([
    ['1-trust-both.yaml', false],
    ['2-issue-from-new.yaml', true],
    ['3-trust-new.yaml', false],
  ]);
  return files.map(({ content }) => parse(content) as unknown) as [Webhooks, Secret, Webhooks];
}

test('both are trusted, then the new one issues, then it alone is trusted', () => {
  const [first, second, third] = steps(start());
  expect(first.webhooks[0]?.clientConfig.caBundle).toBe(bundle(OLD.certificatePem, FRESH.certificatePem));
  expect(second.data).toEqual({ 'ca.crt': bundle(FRESH.certificatePem), 'ca.key': bundle(FRESH.privateKeyPem) });
  expect(third.webhooks[0]?.clientConfig.caBundle).toBe(bundle(FRESH.certificatePem));
});

test('nothing but the bundle changes; what the API server and kubectl added stays out', () => {
  const [first, second] = steps(start());
  const { files } = buildInstallation(PLAIN);
  const plain = parse(files.find(({ kind }) => kind === 'ValidatingWebhookConfiguration')?.content ?? '') as Webhooks;
  const [webhook] = plain.webhooks;
  if (webhook !== undefined) webhook.clientConfig.caBundle = first.webhooks[0]?.clientConfig.caBundle ?? '';
  expect(first).toEqual(plain);
  expect(second.metadata.annotations).toEqual({ mine: 'yes' });
});

test('another webhook in the same configuration is left alone', () => {
  const other = { name: 'other.example.com', clientConfig: { caBundle: 'b3RoZXI=' } };
  const [first] = steps(start(({ webhooks }) => webhooks.push(other)));
  expect(first.webhooks[1]).toEqual(other);
});

test('left after the first step: begun anew from the Secret, the one that never issued is dropped', () => {
  const from = start(({ webhooks: [webhook] }) => {
    if (webhook !== undefined) webhook.clientConfig.caBundle = bundle(OLD.certificatePem, FRESH.certificatePem);
  });
  expect(planRotation(from, NOW).leftOver).toBe(1);
  expect(steps(from)[0].webhooks[0]?.clientConfig.caBundle).toBe(bundle(OLD.certificatePem, FRESH.certificatePem));
});

test.each<[string, (webhooks: Webhooks, secret: Secret) => void, RegExp]>([
  [
    'service CA',
    ({ metadata }) => void (metadata.annotations = { 'service.beta.openshift.io/inject-cabundle': 'true' }),
    /service CA/,
  ],
  [
    'cert-manager',
    ({ metadata }) => void (metadata.annotations = { 'cert-manager.io/inject-ca-from': 'a/b' }),
    /cert-manager/,
  ],
  ['no such webhook', ({ webhooks }) => void webhooks.splice(0), /has no webhook guard\.machineconfig-guard\.io/],
  ['no bundle', ({ webhooks: [one] }) => void (one && (one.clientConfig.caBundle = '')), /holds no certificate/],
  [
    'garbage for a bundle',
    ({ webhooks: [one] }) => void (one && (one.clientConfig.caBundle = 'Z2FyYmFnZQ==')),
    /holds no certificate/,
  ],
  [
    'another bundle',
    ({ webhooks: [one] }) => void (one && (one.clientConfig.caBundle = bundle(FRESH.certificatePem))),
    /calls fail already/,
  ],
  ['no Secret', (_webhooks, secret) => void (secret.data = {}), /has no certificate in ca\.crt/],
])('%s: nothing is rendered, and it says what to do', (_name, change, says) => {
  const plan = () => planRotation(start(change), NOW);
  expect(plan).toThrow(RotationError);
  expect(plan).toThrow(says);
});
