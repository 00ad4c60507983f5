import { toSeconds } from '../common/duration.ts';
import type { PoolReferrer, Referrer, ReferrerKind } from '../mco/referrer.ts';
import type { ConfigName } from '../mco/machine-config.ts';

export interface DanglingReference {
  readonly kind: ReferrerKind;
  readonly name: string;
  readonly field: string;
  readonly config: ConfigName;
}

type EmptyStatusCode = 'StatusEmpty' | 'RolloutUnfinished';

/** Their machines boot with the config of the pool. Those of a custom pool usually boot as workers. */
export const BUILT_IN_POOLS: ReadonlySet<string> = new Set(['master', 'worker', 'arbiter']);

/** Three machines that update one after the other need about this long. */
const FIRST_ROLLOUT_MINUTES = 30;

/** Ignores weak references, because their referrers work without the config. */
export function findDanglingReferences(
  referrers: Iterable<Referrer>,
  configs: ReadonlySet<ConfigName>,
): DanglingReference[] {
  return [...referrers].flatMap(({ kind, name, references }) =>
    references
      .filter(({ config, strength }) => strength === 'strong' && !configs.has(config))
      .map(({ field, config }) => ({ kind, name, field, config })),
  );
}

/**
 * The operator sets the status when all machines are updated for the first time, and never empties it
 * (machine-config-operator, pkg/controller/node/status.go).
 *
 * - `StatusEmpty`: no machine is updated, and one cannot update or the pool is built in. New machines get no config,
 *   because the machine-config-server serves the spec only once a machine is updated (pkg/server/cluster_server.go).
 * - `RolloutUnfinished`: the first roll-out takes longer than {@link FIRST_ROLLOUT_MINUTES}. It starts when the
 *   operator first writes the condition `Updated`.
 */
export function judgeEmptyStatus({ name, emptyStatus }: PoolReferrer, hasDanglingNode: boolean, now: Date) {
  if (emptyStatus === undefined) return undefined;
  const { since, hasUpdatedMachine } = emptyStatus;
  if (!hasUpdatedMachine && (hasDanglingNode || BUILT_IN_POOLS.has(name))) return 'StatusEmpty';
  const isNew = since !== undefined && now.getTime() - since.getTime() < FIRST_ROLLOUT_MINUTES * 60_000;
  return isNew ? undefined : 'RolloutUnfinished';
}

/** Whole sentences without the last period, because `check` prints them as they are. */
export function explainMissingConfig(deletedAt: Date | undefined, guardStart: Date): string {
  if (deletedAt !== undefined) return `It was deleted at ${toSeconds(deletedAt)}`;
  const cause = 'It was deleted before, exists only on the bootstrap host, or the name is wrong';
  return `The guard has not seen this config since it started at ${toSeconds(guardStart)}. ${cause}`;
}

export function explainEmptyStatus(code: EmptyStatusCode): string {
  return code === 'StatusEmpty'
    ? 'the status names no config and no machine is updated, so booting machines get none'
    : `the operator has not updated all machines within ${FIRST_ROLLOUT_MINUTES} minutes, so the status is empty`;
}
