import type { ConfigName } from './config-name.ts';

/** The part of an AdmissionReview that the guard needs. */
export interface Review {
  readonly uid: string;
  readonly dryRun: boolean;
  /** The user name that the API server authenticated. */
  readonly user: string;
  /** The config to be deleted; undefined if the request is not the deletion of a MachineConfig. */
  readonly config: ReviewedConfig | undefined;
}

export interface ReviewedConfig {
  readonly name: ConfigName;
  readonly uid: string;
  readonly annotations: ReadonlyMap<string, string>;
}
