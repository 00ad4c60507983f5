/** The API group of the Machine Config Operator, also the prefix of its annotations. */
export const MCO_GROUP = 'machineconfiguration.openshift.io';
const MCO_V1 = `/apis/${MCO_GROUP}/v1`;

export const MACHINE_CONFIGS_PATH = `${MCO_V1}/machineconfigs`;
export const POOLS_PATH = `${MCO_V1}/machineconfigpools`;
/** v1 from OpenShift 4.18 on, v1alpha1 as a preview in 4.16 and 4.17. Preferred version first. */
export const BUILDS_PATHS = [`${MCO_V1}/machineosbuilds`, `/apis/${MCO_GROUP}/v1alpha1/machineosbuilds`] as const;

export const API_SERVERS_PATH = '/apis/config.openshift.io/v1/apiservers';
