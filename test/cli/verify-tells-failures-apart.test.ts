import { expect, test } from 'vitest';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import { stubWebhook } from '../support/stub-webhook.ts';
import { NEW } from './inspected-cluster.ts';
import { verifiedCluster } from './verified-cluster.ts';

/** Nobody listens on the discard port. */
const DEAD = 'https://127.0.0.1:9/validate';

test('a guard that cannot verify: refused, and yet not protected', async () => {
  const { run, sandbox } = await verifiedCluster({ guarded: false });
  const status = {
    code: 503,
    reason: 'ServiceUnavailable',
    message: `MCG_UNVERIFIED: could not verify whether ${NEW} is in use`,
  };
  const { at } = await stubWebhook(() => ({ response: { allowed: false, status } }));
  sandbox.create(
    'validatingwebhookconfigurations',
    buildWebhookConfiguration({ clientConfig: at, failurePolicy: 'Fail' }),
  );

  const { exitCode, stdout } = await run('verify');

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    /^unused {4}rendered-\S+ is refused: admission webhook "\S+" denied the request: MCG_UNVERIFIED: /m,
  );
  expect(stdout).toMatch(/^answer {4}503 admission webhook "\S+" denied the request: MCG_UNVERIFIED: /m);
  expect(stdout).toContain('NOT PROTECTED: the guard answered MCG_UNVERIFIED where MCG_IN_USE was due.');
});

test('a dead guard, failing closed: refused, but not by a decision', async () => {
  const { run, sandbox } = await verifiedCluster({ guarded: false });
  const { caBundle } = (await stubWebhook(() => 'nothing')).at;
  const clientConfig = { url: DEAD, caBundle };
  sandbox.create('validatingwebhookconfigurations', buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' }));

  const { exitCode, stdout } = await run('verify');

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^answer {4}500 Internal error occurred: failed calling webhook .*connection refused$/m);
  expect(stdout).toContain(
    "NOT PROTECTED: deletions are refused, but not by the guard's decision: the API server cannot reach the guard.",
  );
});

test('a dead guard, failing open: it would be deleted', async () => {
  const { run, sandbox } = await verifiedCluster({ guarded: false });
  const { caBundle } = (await stubWebhook(() => 'nothing')).at;
  const clientConfig = { url: DEAD, caBundle };
  sandbox.create(
    'validatingwebhookconfigurations',
    buildWebhookConfiguration({ clientConfig, failurePolicy: 'Ignore' }),
  );

  const { exitCode, stdout } = await run('verify');

  expect(exitCode).toBe(1);
  expect(stdout).toContain(
    'NOT PROTECTED: it would be deleted: the API server could not ask the guard, and its failurePolicy is Ignore.',
  );
});
