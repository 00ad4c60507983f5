import type { ConfigName } from '../mco/machine-config.ts';

/** What the leader writes of the MachineConfigGuard's status. Null removes a field that is unknown. */
export interface GuardStatus extends HoldStatus {
  readonly mode: string;
  readonly version: string;
  /** How many rendered configs are in use. */
  readonly protectedConfigs: number | null;
  /** How many there are, of which `danglingReferences` lists the first. */
  readonly danglingCount: number | null;
  readonly danglingReferences: readonly DanglingReferenceStatus[];
  readonly conditions: readonly Condition[];
}

export interface DanglingReferenceStatus {
  readonly kind: string;
  readonly name: string;
  readonly field: string;
  /** Empty for the empty status of a pool. */
  readonly config: string;
  /** All times are RFC 3339 in whole seconds. */
  readonly since: string;
  readonly deletedAt: string | undefined;
  readonly explanation: string;
  /** Empty if no existing name is similar. */
  readonly suggestion: string;
}

/** What the guard holds. Null without a current list of each kind. */
export interface HoldStatus {
  /** The hold that applies, as a Go duration. */
  readonly holdSuperseded: string | null;
  /** How many configs are held, of which `heldConfigs` lists those with the latest end. */
  readonly heldCount: number | null;
  readonly heldConfigs: readonly HeldConfig[] | null;
}

export interface HeldConfig {
  readonly name: ConfigName;
  readonly pool: string;
  readonly until: string;
  readonly reason: string;
}

export const CONDITION_TYPES = [
  'Ready',
  'ReferencesConsistent',
  'RestoresComplete',
  'OverridesUnused',
  'CertificatesValid',
  'TLSProfileApplied',
] as const;

/** A condition of the status, as in Kubernetes (apimachinery, pkg/apis/meta/v1/types.go). */
export interface Condition {
  readonly type: (typeof CONDITION_TYPES)[number];
  readonly status: 'True' | 'False' | 'Unknown';
  /** In UpperCamelCase. */
  readonly reason: string;
  readonly message: string;
}
