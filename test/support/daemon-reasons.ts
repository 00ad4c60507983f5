// Reasons exactly as the machine-config-daemon writes them. Where no release is named, 4.20 wrote them on this machine
// (test/e2e/operator), and other releases by their source, pkg/daemon of machine-config-operator.

const GROUP = 'machineconfig.machineconfiguration.openshift.io';
const DIFF_FILE = '/etc/machine-config-daemon/bootstrapconfigdiff';

export const REASONS = {
  /** OpenShift 4.16 to 4.20. The other releases write only the second line. */
  missing: (config: string) => `missing MachineConfig ${config}\n${GROUP} "${config}" not found`,
  /** OpenShift 4.4 to 4.15, 4.21 and later. */
  notFound: (config: string) => `${GROUP} "${config}" not found`,
  /** From 4.19 on, if the first boot changed something. */
  bootstrapMismatch: (bootstrap: string, inCluster: string) =>
    `bootstrap generated MC ${bootstrap} and in-cluster generated MC ${inCluster} for this node do not match. ` +
    `Please check machine-config-daemon logs or the on disk diff file located at ${DIFF_FILE}`,
  /** From 4.19 on, if the first boot changed nothing. */
  bootstrapDiskUnread:
    'error fetching current config on disk during bootstrap: ' +
    'open /etc/machine-config-daemon/currentconfig: no such file or directory, config: <nil>',
  desiredAbsent: (node: string) =>
    `machineconfiguration.openshift.io/desiredConfig annotation not found on node '${node}'`,
  fileChanged: (path: string) => `content mismatch for file "${path}"`,
  diskDiffers: (config: string, path = '/etc/a') =>
    `unexpected on-disk state validating against ${config}: content mismatch for file "${path}"`,
  fileGone: (config: string, path: string) =>
    `unexpected on-disk state validating against ${config}: ` +
    `could not stat file "${path}": lstat ${path}: no such file or directory`,
  fileMode: (config: string, path: string) =>
    `unexpected on-disk state validating against ${config}: mode mismatch for file: "${path}"; ` +
    'expected: -rw-r--r--/420/0644; received: -rw-------/384/0600',
  unitMask: (config: string, path: string) =>
    `unexpected on-disk state validating against ${config}: state validation: invalid unit masked setting. ` +
    `path: "${path}"; expected: /dev/null; received: ${path}`,
  kernelArguments: (config: string, missing: string) =>
    `unexpected on-disk state validating against ${config}: missing expected kernel arguments: [${missing}]`,
  osImage: (config: string, expected: string, booted: string) =>
    `unexpected on-disk state validating against ${config}: expected target osImageURL "${expected}", have "${booted}"`,
  /** By the source. With Go's JSON decoder, an empty file is `EOF`. */
  recordDamaged: 'error reading config from disk: unexpected EOF',
  drain: (node: string) =>
    `failed to drain node: ${node} after 1 hour. Please see machine-config-controller logs for more information`,
  uncordon: (node: string) =>
    `failed to uncordon node: ${node} after 10 minutes. Please see machine-config-controller logs for more information`,
  unreconcilable: (from: string, to: string) =>
    `can't reconcile config ${from} with ${to}: ignition disks section contains changes`,
};
