import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';

test('builds the configuration in manifests/base', () => {
  const file = new URL('../../manifests/base/webhook.yaml', import.meta.url);
  const name = 'machineconfig-guard';
  const configuration = buildWebhookConfiguration({
    clientConfig: { service: { name, namespace: name, path: '/validate', port: 443 } },
    failurePolicy: 'Fail',
  });
  expect(parse(readFileSync(file, 'utf8'))).toEqual({
    ...configuration,
    metadata: { name, labels: { 'app.kubernetes.io/name': name } },
  });
});
