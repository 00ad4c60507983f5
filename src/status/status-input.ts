import type { Settings } from '../api/settings.ts';
import type { Expiry } from '../certificates/key-pair.ts';
import type { ConfigIndex } from '../references/config-index.ts';
import type { FollowedKind, ReferenceIndex } from '../references/reference-index.ts';
import type { UseHistory } from '../review/hold.ts';
import type { FollowedTlsProfile } from '../serving/tls-profile.ts';
import type { DanglingFinding } from './dangling-reference-detector.ts';

/** What the status is described from. */
export interface StatusInput {
  readonly index: Pick<ReferenceIndex, 'byConfig' | 'isSynced' | 'listPools' | 'listUnreportedNodes' | 'pools'> & {
    readonly reflectors: readonly Pick<FollowedKind, 'contentProblem' | 'isSynced' | 'resource'>[];
  };
  readonly configs: Pick<ConfigIndex, 'isSynced' | 'isForbidden' | 'objects'>;
  readonly history: UseHistory;
  readonly settings: Settings;
  readonly findings: readonly DanglingFinding[];
  readonly protectedConfigs: number;
  readonly expiries: readonly Expiry[];
  readonly tlsProfile: FollowedTlsProfile | undefined;
  readonly now: Date;
}
