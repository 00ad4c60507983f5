import type { ConfigName } from './config-name.ts';

/** The part of an AdmissionReview that the guard needs. */
export interface Review {
  readonly uid: string;
  readonly isDryRun: boolean;
  /** The user name that the API server authenticated. */
  readonly user: string;
  /** Undefined if the request is not the deletion of a MachineConfig. */
  readonly config: ConfigToDelete | undefined;
}

/** What a hold depends on, beside the referrers. */
export interface HoldableConfig {
  readonly name: ConfigName;
  /** The pool in its ownerReferences. */
  readonly ownerPool?: string;
  readonly createdAt: Date | undefined;
}

export interface ConfigToDelete extends HoldableConfig {
  readonly uid: string;
  /** The value of its allow-deletion annotation, at most 256 characters. */
  readonly allowDeletion?: string;
}
