import type { ConfigName } from './config-name.ts';

/** A request of the API server: may this object be deleted? */
export interface Review {
  readonly uid: string;
  readonly dryRun: boolean;
  /** The user name that the API server authenticated. */
  readonly user: string;
  /** The config to be deleted; undefined if the request is not the deletion of a MachineConfig. */
  readonly config: ReviewedConfig | undefined;
}

/** The config that a review is about. */
export interface ReviewedConfig {
  readonly name: ConfigName;
  readonly uid: string;
  readonly annotations: ReadonlyMap<string, string>;
}
