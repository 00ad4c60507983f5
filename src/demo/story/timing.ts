/** Seconds since the hosts were switched on, as in an agent-based install of OpenShift 4.18.30. */
export const TIMING = {
  /** The bootstrap on control0 renders the first config. */
  bootstrapRendersAt: 120,
  mastersJoinAt: 180,
  newMachineConfigAt: 300,
  cleanUpAt: 366,
  cleanUpEvery: 240,
  /** After this the installer waits only for Ready masters. */
  bootstrapCompleteAt: 390,
  operatorReacts: 1,
  daemonReacts: 1,
  nodeUpdates: 28,
  /** From the reboot until the machine-config-daemon reports. */
  nodeReboots: 30,
  nodeBecomesReady: 60,
  /** While control0 reboots, etcd has no quorum. */
  apiAway: 60,
  /** From the reboot of control0 until it joins as the third master. */
  bootstrapHostJoins: 150,
} as const;
