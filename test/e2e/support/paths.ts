const MCO = '/apis/machineconfiguration.openshift.io/v1';
const NAMESPACES = '/api/v1/namespaces';

/** API paths of the kinds that the tests use. */
export const PATHS = {
  nodes: '/api/v1/nodes',
  configs: `${MCO}/machineconfigs`,
  pools: `${MCO}/machineconfigpools`,
  builds: `${MCO}/machineosbuilds`,
  /** Events about cluster-scoped objects are in the namespace `default`. */
  events: '/apis/events.k8s.io/v1/namespaces/default/events',
  namespaces: NAMESPACES,
  /** The namespace of the guard. */
  guardNamespace: `${NAMESPACES}/machineconfig-guard`,
  deployment: '/apis/apps/v1/namespaces/machineconfig-guard/deployments/machineconfig-guard',
  /** The MachineConfigGuard. */
  guard: '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards/cluster',
  /** The Lease of the replica that writes the status. */
  lease: '/apis/coordination.k8s.io/v1/namespaces/machineconfig-guard/leases/machineconfig-guard',
  /** The ServiceMonitor of the guard. */
  monitor: '/apis/monitoring.coreos.com/v1/namespaces/machineconfig-guard/servicemonitors/machineconfig-guard',
  webhookConfigurations: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  guardWebhook: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/machineconfig-guard',
} as const;

/** The namespace of the Machine Config Operator, which every OpenShift cluster has. */
export const OPERATOR_NAMESPACE = 'openshift-machine-config-operator';
