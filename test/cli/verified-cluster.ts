import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import type { SeenRequest } from '../support/faults.ts';
import { stubWebhook } from '../support/stub-webhook.ts';
import { createConfig, createNode, type InspectedCluster, inspectedCluster, NEW, OLD } from './inspected-cluster.ts';

/** A cluster for `verify`, and every deletion that was asked of its API server. */
export interface VerifiedCluster extends InspectedCluster {
  readonly deletions: readonly SeenRequest[];
}

/** One with a node on NEW, OLD left over, and a webhook that refuses the deletion of NEW as the guard would. */
export async function verifiedCluster(options: { readonly guarded?: boolean } = {}): Promise<VerifiedCluster> {
  const cluster = await inspectedCluster();
  const { sandbox } = cluster;
  const deletions: SeenRequest[] = [];
  sandbox.faults.intercept((request) => {
    if (request.method === 'DELETE') deletions.push(request);
    return 'pass';
  });
  createConfig(sandbox, OLD);
  createConfig(sandbox, NEW);
  createNode(sandbox, 'worker-0', { currentConfig: NEW });
  if (options.guarded !== false) await guard(cluster);
  return { ...cluster, deletions };
}

async function guard({ sandbox }: InspectedCluster): Promise<void> {
  const status = {
    code: 403,
    reason: 'Forbidden',
    message: `MCG_IN_USE: ${NEW} is in use by node worker-0\n(currentConfig).`,
  };
  const webhook = await stubWebhook(({ review }) => ({
    response: review.request['name'] === NEW ? { allowed: false, status } : { allowed: true },
  }));
  const clientConfig = webhook.at;
  sandbox.create('validatingwebhookconfigurations', buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' }));
}
