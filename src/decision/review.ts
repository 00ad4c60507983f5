import type { ConfigName } from './config-name.ts';

/** A question of the API server: may this object be deleted? */
export interface Review {
  readonly uid: string;
  readonly dryRun: boolean;
  /** Who asks, as the API server authenticated them. */
  readonly user: string;
  /** The config that would be deleted; undefined where the request is not the deletion of a MachineConfig. */
  readonly config: ReviewedConfig | undefined;
}

/** What the guard needs of the object that would be deleted. */
export interface ReviewedConfig {
  readonly name: ConfigName;
  readonly uid: string;
  readonly annotations: ReadonlyMap<string, string>;
}
