/** The API of the MachineConfigGuard. */
export const GUARDS_PATH = '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards';
export const GUARD_NAME = 'cluster';
export const GUARD_PATH = `${GUARDS_PATH}/${GUARD_NAME}`;

/** The name of the webhook configuration, the Deployment, the Lease and the namespace in the manifests. */
export const INSTALLED_NAME = 'machineconfig-guard';

/** Where the manifests put the authority of the serving certificates. */
export const AUTHORITY_SECRET_PATH = '/api/v1/namespaces/machineconfig-guard/secrets/machineconfig-guard-ca';
