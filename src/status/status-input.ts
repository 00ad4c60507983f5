import type { Settings } from '../api/settings.ts';
import type { Expiry } from '../certificates/key-pair.ts';
import type { ConfigIndex } from '../references/config-index.ts';
import type { FollowedKind, ReferenceIndex } from '../references/reference-index.ts';
import type { UseHistory } from '../review/hold.ts';
import type { FollowedTlsProfile } from '../serving/tls-profile.ts';
import type { DanglingFinding } from './dangling-reference-detector.ts';

/** What the status is described from. */
export interface StatusInput {
  readonly index: Pick<ReferenceIndex, 'byConfig' | 'listPools' | 'listUnreportedNodes'> & {
    readonly reflectors: readonly Pick<FollowedKind, 'contentProblem' | 'resource' | 'silentMs'>[];
  };
  readonly configs: Pick<ConfigIndex, 'isForbidden' | 'objects' | 'resource' | 'silentMs'>;
  readonly history: UseHistory;
  readonly settings: Settings;
  /** Undefined if the guard may not read MachineConfigs, or has not listed each kind. */
  readonly findings: readonly DanglingFinding[] | undefined;
  readonly protectedConfigs: number | undefined;
  readonly expiries: readonly Expiry[];
  readonly tlsProfile: FollowedTlsProfile;
  readonly now: Date;
}
