import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';

test('what `dev` registers and what the manifests register differ in where the guard is, and in nothing else', () => {
  const file = new URL('../../manifests/base/webhook.yaml', import.meta.url);
  expect(parse(readFileSync(file, 'utf8'))).toEqual(
    buildWebhookConfiguration({
      labels: { 'app.kubernetes.io/name': 'machineconfig-guard' },
      clientConfig: {
        service: { name: 'machineconfig-guard', namespace: 'machineconfig-guard', path: '/validate', port: 443 },
      },
      failurePolicy: 'Fail',
    }),
  );
});
