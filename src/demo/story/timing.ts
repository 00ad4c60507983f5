/** Seconds since the hosts were switched on, as in an agent-based install of OpenShift 4.18.30. */
export const TIMING = {
  /** The bootstrap on control0 renders the first config. */
  bootstrapRendersAt: 120,
  mastersJoinAt: 180,
  /** The operator starts in the cluster and renders the config of the pool. */
  operatorRendersAt: 300,
  cleanUpAt: 366,
  cleanUpEvery: 240,
  /** After this the installer waits only for Ready masters. */
  bootstrapCompleteAt: 390,
  /** While control0 reboots, etcd has no quorum. */
  apiAway: 60,
} as const;
