/**
 * When things happen in incident A, in seconds since the hosts were switched on, and how long they take. Taken from the
 * incident: an agent-based install of OpenShift 4.18.30 with three control-plane nodes.
 */
export const TIMING = {
  /** bootkube runs on control0; the bootstrap renders the first config. */
  bootstrapRendersAt: 120,
  /** control1 and control2 have booted from disk and joined. */
  mastersJoinAt: 180,
  /** Another MachineConfig arrives, and with it a second rendered config. */
  newMachineConfigAt: 300,
  /** The clean-up runs for the first time. */
  cleanUpAt: 366,
  /** After a refusal it comes back, as any job that runs on a schedule. */
  cleanUpEvery: 240,
  /** bootkube and the etcd bootstrap are done; the installer only waits for Ready masters. */
  bootstrapCompleteAt: 390,
  /** The node controller chooses a node after a change. */
  operatorReacts: 1,
  /** The machine-config-daemon notices its new desired config. */
  daemonReacts: 1,
  /** Drain and writing of files, until the reboot. */
  nodeUpdates: 28,
  /** A reboot, until the machine-config-daemon reports again. */
  nodeReboots: 30,
  /** Then until the kubelet is Ready. */
  nodeBecomesReady: 60,
  /** While control0 reboots, etcd of the other two looks for a quorum, and the API does not answer. */
  apiAway: 60,
  /** After the reboot control0 writes its disk and joins as the third master. */
  bootstrapHostJoins: 150,
} as const;
