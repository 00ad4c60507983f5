import { expect, test } from 'vitest';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import { register } from './stub-webhook.ts';
import { startTestCluster } from '../support/test-cluster.ts';

const CLIENT = { url: 'https://127.0.0.1:1/validate' };

test.each([
  [{ matchConditions: [{ name: 'x', expression: 'object.metadata.name == "x"' }] }, /does not know the expression/],
  [{ rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['*'] }] }, /DELETE only/],
  [{ objectSelector: { matchLabels: { a: 'b' } } }, /objectSelector/],
  [{ sideEffects: 'Some' }, /sideEffects/],
  [{ name: 'guard' }, /three segments/],
  [{ timeoutSeconds: 31 }, /between 1 and 30/],
  [{ admissionReviewVersions: ['v1beta1'] }, /must include v1/],
  [{ clientConfig: {} }, /exactly one of url or service/],
  [{ clientConfig: { url: 'http://127.0.0.1' } }, /only allowed URL scheme/],
])('%j', async (change, why) => {
  const sandbox = await startTestCluster();
  expect(() => {
    register(sandbox, CLIENT, change);
  }).toThrow(why);
  expect(sandbox.list('validatingwebhookconfigurations')).toEqual([]);
});

test('the one of the guard itself is taken', async () => {
  const sandbox = await startTestCluster();
  const configuration = buildWebhookConfiguration({ clientConfig: { ...CLIENT, caBundle: '' }, failurePolicy: 'Fail' });
  expect(sandbox.create('validatingwebhookconfigurations', configuration).metadata.name).toBe('machineconfig-guard');
});
