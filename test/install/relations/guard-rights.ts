/**
 * Everything that the guard may do: `VERB RESOURCE.GROUP[/NAME] [in NAMESPACE]`. test/guard/rights.test.ts compares it
 * with the requests of a guard, and a relation compares it with the roles.
 */
export const GUARD_RIGHTS: readonly string[] = [
  'create events.events.k8s.io in default',
  'create leases.coordination.k8s.io in machineconfig-guard',
  'create machineconfigguards.machineconfig-guard.io',
  'create subjectaccessreviews.authorization.k8s.io',
  'create tokenreviews.authentication.k8s.io',
  'get apiservers.config.openshift.io/cluster',
  'get leases.coordination.k8s.io/machineconfig-guard in machineconfig-guard',
  'get machineconfigguards.machineconfig-guard.io/cluster',
  'get machineconfigpools.machineconfiguration.openshift.io',
  'get machineconfigs.machineconfiguration.openshift.io',
  'get machineosbuilds.machineconfiguration.openshift.io',
  'get nodes',
  'get secrets/machineconfig-guard-ca in machineconfig-guard',
  'list machineconfigpools.machineconfiguration.openshift.io',
  'list machineconfigs.machineconfiguration.openshift.io',
  'list machineosbuilds.machineconfiguration.openshift.io',
  'list nodes',
  'patch leases.coordination.k8s.io/machineconfig-guard in machineconfig-guard',
  'patch machineconfigguards/status.machineconfig-guard.io/cluster',
  'watch machineconfigpools.machineconfiguration.openshift.io',
  'watch machineconfigs.machineconfiguration.openshift.io',
  'watch machineosbuilds.machineconfiguration.openshift.io',
  'watch nodes',
];
