/** Seconds, as in an agent-based install of OpenShift 4.18.30. */
export const OPERATOR_TIMING = {
  controllerReacts: 1,
  daemonReacts: 1,
  nodeUpdates: 28,
  /** From the reboot until the machine-config-daemon reports. */
  nodeReboots: 30,
  nodeBecomesReady: 60,
  /** A Degraded daemon retries after this time, then after twice the time, up to the maximum. */
  daemonRetries: 5,
  daemonRetriesMax: 60,
  daemonRecovers: 2,
  /** Between two requests of a host to the machine-config-server. */
  hostRetries: 5,
  /** From the start of a host until it asks for its config. */
  hostStarts: 60,
  /** From the answer until the node exists. */
  hostJoins: 90,
} as const;
