/** The running replicas of the guard's Deployment. */
export interface Replicas {
  /** Waits until all replicas run the current template and get calls. */
  awaitRollout(): Promise<void>;
  /** The log of each replica. */
  readLogs(): Promise<readonly string[]>;
  /** Host and port at which each replica serves its metrics. */
  listMetricsAddresses(): Promise<readonly string[]>;
  stop(): Promise<void>;
}
