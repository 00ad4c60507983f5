import { randomBytes } from 'node:crypto';
import { operatorAnnotations } from '../../support/operator-objects.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';

export const MCO = 'machineconfiguration.openshift.io';
const MCO_API = `/apis/${MCO}/v1`;
const NAMESPACES = '/api/v1/namespaces';

/** API paths of the kinds that the tests use. */
export const PATHS = {
  nodes: '/api/v1/nodes',
  configs: `${MCO_API}/machineconfigs`,
  pools: `${MCO_API}/machineconfigpools`,
  builds: `${MCO_API}/machineosbuilds`,
  /** Events about cluster-scoped objects are in the namespace `default`. */
  events: '/apis/events.k8s.io/v1/namespaces/default/events',
  namespaces: NAMESPACES,
  guardNamespace: `${NAMESPACES}/machineconfig-guard`,
  deployment: '/apis/apps/v1/namespaces/machineconfig-guard/deployments/machineconfig-guard',
  guard: '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards/cluster',
  /** The Lease of the replica that writes the status. */
  lease: '/apis/coordination.k8s.io/v1/namespaces/machineconfig-guard/leases/machineconfig-guard',
  webhookConfigurations: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  guardWebhook: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/machineconfig-guard',
} as const;

/** The namespace of the Machine Config Operator, which every OpenShift cluster has. */
export const OPERATOR_NAMESPACE = 'openshift-machine-config-operator';

/** A new name as the operator builds it (machine-config-operator, pkg/controller/render/hash.go). */
export function renderedName(pool = 'worker') {
  return `rendered-${pool}-${randomBytes(16).toString('hex')}`;
}

/** The merge patch of a node by which the operator assigns a config, or the daemon reports its state. */
export function nodePatch(values: object): object {
  return { metadata: { annotations: operatorAnnotations(values) } };
}

/** The annotations of a node, those of the operator without their prefix. */
export function readAnnotations({ metadata }: Pick<KubeObject, 'metadata'>): Readonly<Record<string, string>> {
  const entries = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key.replace(`${MCO}/`, ''), value]));
}
