import packageJson from '../../package.json' with { type: 'json' };
import type { Expiry } from '../certificates/key-pair.ts';
import { countNoun, joinFirst } from '../common/printable-text.ts';
import { toSeconds } from '../common/duration.ts';
import { describeTlsProfile } from '../serving/tls-profile.ts';
import { describeFinding } from './dangling-reference-detector.ts';
import { describeHolds, NO_HOLDS } from './hold-status.ts';
import type { PoolReferrer } from '../mco/referrer.ts';
import { ALLOW_DELETION_ANNOTATION } from '../api/annotations.ts';
import { formatName, isRenderedConfig, type WatchedConfig } from '../mco/machine-config.ts';
import { type Condition, CONDITION_TYPES, type GuardStatus } from './guard-status.ts';
import type { StatusInput } from './status-input.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';

type Judgement = readonly [status: Condition['status'], reason: string, message: string];

const MAX_LISTED = 50;
const MAX_DESCRIBED = 3;
const EXPIRES_SOON_MS = 30 * 86_400_000;
/** A watch that works sends a bookmark about once a minute. */
const MAX_SILENCE_MS = 300_000;
const RENEWAL_ADVICE = {
  authority: 'rotate it: machineconfig-guard explain install/certificates',
  serving: 'renew it at its issuer',
};
const FORBIDDEN: Judgement = ['Unknown', 'Forbidden', 'the guard may not read MachineConfigs'];

const JUDGES: Readonly<Record<Condition['type'], (input: StatusInput) => Judgement>> = {
  Ready: judgeReadiness,
  ReferencesConsistent: judgeReferences,
  RestoresComplete: judgeRestores,
  OverridesUnused: judgeOverrides,
  CertificatesValid: judgeCertificates,
  TLSProfileApplied: judgeTlsProfile,
};

/** Only current lists show that these are True. */
const OF_LISTS = new Set<Condition['type']>(['ReferencesConsistent', 'RestoresComplete', 'OverridesUnused']);

/** Describes what the guard has found, by the rules of its answers. */
export function describeStatus(input: StatusInput): GuardStatus {
  const { configs, findings = [], protectedConfigs = null, settings } = input;
  const unlisted = describeUnlisted(input);
  const conditions = CONDITION_TYPES.map((type): Condition => {
    const judgement = JUDGES[type](input);
    const isUnread = unlisted !== undefined && OF_LISTS.has(type) && judgement[0] === 'True';
    const [status, reason, message] = isUnread ? (['Unknown', 'Reading', unlisted] as const) : judgement;
    return { type, status, reason, message };
  });
  return {
    mode: settings.mode,
    version: packageJson.version,
    protectedConfigs,
    danglingCount: input.findings?.length ?? null,
    danglingReferences: findings.slice(0, MAX_LISTED).map((finding) => {
      const { kind, name, field, explanation, suggestion = '' } = finding;
      const [since, deletedAt] = [toSeconds(finding.since), finding.deletedAt && toSeconds(finding.deletedAt)];
      const config = finding.config === undefined ? '' : formatName(finding.config);
      return { kind, name, field, config, since, deletedAt, explanation, suggestion };
    }),
    ...(configs.isForbidden || unlisted !== undefined ? NO_HOLDS : describeHolds(input)),
    conditions,
  };
}

/** Says of which kinds the guard has not received a list yet, or nothing lately. Undefined if there are none. */
function describeUnlisted({ index, configs }: StatusInput): string | undefined {
  const followed = configs.isForbidden ? index.reflectors : [...index.reflectors, configs];
  const silent = followed.filter(({ silentMs = Number.POSITIVE_INFINITY }) => silentMs > MAX_SILENCE_MS);
  return silent.length === 0 ? undefined : `no current list of ${silent.map((each) => each.resource.name).join(', ')}`;
}

function judgeReadiness(input: StatusInput): Judgement {
  const unlisted = describeUnlisted(input);
  const problems = input.index.reflectors.flatMap(({ contentProblem }) => contentProblem ?? []);
  if (problems.length > 0) return ['False', 'Unreadable', problems.join(', ')];
  const { outdatedMode } = input.settings;
  if (outdatedMode !== undefined) {
    const message = `the MachineConfigGuard cannot be read, so mode Enforce applies (last read: ${outdatedMode})`;
    return ['False', 'SettingsUnreadable', message];
  }
  return unlisted === undefined
    ? ['True', 'Serving', 'the guard serves and has listed the cluster']
    : ['False', 'Reading', unlisted];
}

function judgeReferences({ configs, findings = [] }: StatusInput): Judgement {
  if (configs.isForbidden) return FORBIDDEN;
  if (findings.length === 0) return ['True', 'AllExist', 'every referenced MachineConfig exists'];
  const described = findings.slice(0, MAX_DESCRIBED).map(describeFinding).join('. ');
  const more = findings.length > MAX_DESCRIBED ? `. And ${findings.length - MAX_DESCRIBED} more` : '';
  return ['False', 'DanglingReferences', `${countNoun(findings.length, 'dangling reference')}: ${described}${more}`];
}

/** A pool that stays paused gets no update. */
function judgeRestores({ index, now }: StatusInput): Judgement {
  const stalled = findStalledRestores(index.listPools(), now);
  if (stalled.length === 0) return ['True', 'NoneStalled', 'no pool stays paused for a restore'];
  const pools = stalled.slice(0, MAX_DESCRIBED).map(({ name, pausedForRestore }) => {
    const { config = '', since } = pausedForRestore ?? {};
    const time = since === undefined ? '' : ` since ${toSeconds(since)}`;
    return `pool ${name} is paused${time} for a restore of ${formatName(config)}`;
  });
  const command = 'The command "machineconfig-guard check" prints how to continue or to give up';
  return ['False', 'PoolPausedForRestore', `${pools.join('. ')}. ${command}`];
}

/** Such an annotation lets any prune delete the config. */
function judgeOverrides({ index, configs }: StatusInput): Judgement {
  if (configs.isForbidden) return FORBIDDEN;
  const overridden = [...configs.objects.values()]
    .filter((config) => isOverrideInUse(config, index))
    .map(({ name }) => formatName(name));
  if (overridden.length === 0) return ['True', 'NoneInUse', 'no config in use has the allow-deletion annotation'];
  const names = joinFirst(overridden, MAX_DESCRIBED);
  const message = `in use, but the annotation ${ALLOW_DELETION_ANNOTATION} lets them be deleted: ${names}`;
  return ['False', 'ConfigInUse', message];
}

function judgeCertificates({ expiries, now }: StatusInput): Judgement {
  const isDue = ({ notAfter, isRenewedByGuard }: Expiry): boolean =>
    !isRenewedByGuard && notAfter.getTime() - now.getTime() < EXPIRES_SOON_MS;
  const described = expiries.map((expiry) => {
    const { certificate, notAfter } = expiry;
    const advice = isDue(expiry) ? ` (${RENEWAL_ADVICE[certificate]})` : '';
    return `${certificate} until ${toSeconds(notAfter).slice(0, 10)}${advice}`;
  });
  if (expiries.some(({ notAfter }) => notAfter <= now)) return ['False', 'Expired', described.join(', ')];
  return ['True', expiries.some(isDue) ? 'ExpiresSoon' : 'Valid', described.join(', ')];
}

function judgeTlsProfile({ tlsProfile: { profile, problem } }: StatusInput): Judgement {
  if (problem === undefined) return ['True', profile.type, describeTlsProfile(profile)];
  return [problem.reason === 'Unsupported' ? 'False' : 'Unknown', problem.reason, problem.message];
}

/** A restore takes minutes, unless it waits for a machine. One that was killed leaves its pool paused. */
const MAX_RESTORE_MS = 3_600_000;

/** Returns the pools that have been paused for a restore for longer than an hour. */
export function findStalledRestores(pools: readonly PoolReferrer[], now: Date): PoolReferrer[] {
  const isStalled = (since: Date | undefined) =>
    since === undefined || now.getTime() - since.getTime() > MAX_RESTORE_MS;
  return pools.filter(({ pausedForRestore: restore }) => restore && isStalled(restore.since));
}

/** Somebody may have forgotten the annotation, or planted it with the right to patch alone. */
function isOverrideInUse({ name, isOverridden }: WatchedConfig, index: Pick<ReferenceIndex, 'byConfig'>): boolean {
  return isOverridden && isRenderedConfig(name) && index.byConfig.has(name);
}
