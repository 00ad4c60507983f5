const MCO = '/apis/machineconfiguration.openshift.io/v1';

/** Where the API server keeps each kind. */
export const PATHS = {
  nodes: '/api/v1/nodes',
  configs: `${MCO}/machineconfigs`,
  pools: `${MCO}/machineconfigpools`,
  builds: `${MCO}/machineosbuilds`,
  /** Events about cluster-scoped objects live in the namespace `default`. */
  events: '/apis/events.k8s.io/v1/namespaces/default/events',
  namespaces: '/api/v1/namespaces',
  crds: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  /** The one MachineConfigGuard. */
  guard: '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards/cluster',
  webhookConfigurations: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
} as const;
