import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { parse } from 'yaml';

import { REFERENCE_WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import { KubeClient, type KubeClientOptions, type KubeObject } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import type { Cluster } from './cluster.ts';
import { MANIFESTS } from './overlays.ts';
import { OPERATOR_NAMESPACE } from './operator-namespace.ts';
import { PATHS } from './paths.ts';

type Webhooks = KubeObject & { readonly webhooks: readonly object[] };

const MCO = 'machineconfiguration.openshift.io';

/** The component's webhook configuration, which calls a guard at this URL. */
export async function referenceWebhook(url: string, ca: string): Promise<Webhooks> {
  const file = join(MANIFESTS, 'components', 'reference-guard', 'webhook.yaml');
  const configuration = parse(await readFile(file, 'utf8')) as Webhooks;
  const caBundle = Buffer.from(ca).toString('base64');
  const clientConfig = { url: url.replace(/\/validate$/, '/validate-references'), caBundle };
  return {
    ...configuration,
    webhooks: configuration.webhooks.map((webhook) => ({ ...webhook, clientConfig })),
  };
}

/** Clients with all rights whose user name is that of a component. */
export function impersonators(admin: KubeClientOptions) {
  const create = (user: string, ...groups: readonly string[]) =>
    new KubeClient({ ...admin, impersonate: { user, groups: ['system:masters', ...groups] } });
  const account = (name: string) => {
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${OPERATOR_NAMESPACE}`];
    return create(`system:serviceaccount:${OPERATOR_NAMESPACE}:${name}`, ...groups);
  };
  return {
    kubelet: (node: string) => create(`system:node:${node}`, 'system:nodes'),
    daemon: account('machine-config-daemon'),
    controller: account('machine-config-controller'),
    /** A service account that is not of the operator, such as a GitOps controller. */
    gitOps: create('system:serviceaccount:openshift-gitops:argocd', 'system:serviceaccounts'),
  };
}

/** The patch that `oc annotate` sends. Null removes an annotation. */
export function annotationPatch(annotations: Readonly<Record<string, string | null>>) {
  const entries = Object.entries(annotations).map(([field, value]) => [`${MCO}/${field}`, value] as const);
  return { metadata: { annotations: Object.fromEntries(entries) } };
}

/** Sends a merge patch and returns every response, denials included. */
export function sendPatch(client: KubeClient, path: string, patch: object, query = {}) {
  return client.request('PATCH', path, patch, { contentType: 'application/merge-patch+json', query });
}

/** Waits until the API server calls the reference guard, and denies. */
export async function awaitReferenceGuard(cluster: Cluster) {
  const path = `${PATHS.nodes}/${await cluster.node()}`;
  const patch = annotationPatch({ desiredConfig: 'rendered-probe' });
  const isDenied = async () =>
    (await sendPatch(cluster.admin, path, patch, { dryRun: 'All' })).status === 403;
  await until('a denial by the reference guard', isDenied, { timeoutMs: 40_000 });
  await cluster.admin.delete(path);
}

/** How often the API server has called the reference guard, and kept a request away from it. */
export async function countCalls(admin: KubeClient) {
  const metrics = String((await admin.request('GET', '/metrics')).body).split('\n');
  const sum = (metric: string) =>
    metrics
      .filter((line) => line.startsWith(`${metric}{`) && line.includes(`name="${REFERENCE_WEBHOOK_NAME}"`))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
  return {
    calls: sum('apiserver_admission_webhook_request_total'),
    excluded: sum('apiserver_admission_match_condition_exclusions_total'),
  };
}
