import type { ConfigName } from './config-name.ts';
import type { NamedReference } from './references.ts';

/** The part of every AdmissionReview that the guard needs. */
export interface ReviewHeader {
  readonly uid: string;
  readonly isDryRun: boolean;
  /** The user name that the API server authenticated. */
  readonly user: string;
}

/** A review of a deletion. */
export interface Review extends ReviewHeader {
  /** Undefined if the request is not the deletion of a MachineConfig. */
  readonly config: ConfigToDelete | undefined;
}

export interface ConfigToDelete {
  readonly name: ConfigName;
  readonly uid: string;
  /** The value of its allow-deletion annotation, at most 256 characters. */
  readonly allowDeletion?: string;
}

/** A review of an update of a node or a pool. */
export interface ReferenceReview extends ReviewHeader {
  /** The strong references that the update adds or changes. */
  readonly references: readonly NamedReference[];
}
