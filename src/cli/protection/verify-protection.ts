import { advise } from '../../client/output/advice.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import type { KubeApi } from '../../kube/api.ts';
import { type DryRunAnswer, dryRunDeletion, findCandidates } from './dry-run-deletion.ts';
import { type PolicyBinding, readEvidence, type RegisteredWebhook } from './evidence.ts';
import { deriveProtection, type Protection, UNKNOWN } from './protection.ts';

/** The JSON of `verify --output json`. Its keys are a contract. What the user may not read is null. */
export interface VerifyReport extends Protection {
  readonly server: string;
  readonly webhooks: readonly RegisteredWebhook[] | null;
  readonly floor: readonly PolicyBinding[] | null;
  readonly mode: string | null;
  /** A config in use, and one of its references. */
  readonly dryRun: Readonly<Record<'config' | 'kind' | 'name' | 'field', string>> | null;
  readonly answer: DryRunAnswer | null;
  readonly unused: {
    readonly config: string;
    readonly wouldBeDeleted: boolean;
    readonly message: string;
  } | null;
}

const MAX_ATTEMPTS = 3;
const NOTHING_IN_USE =
  'no rendered MachineConfig is in use, apart from those that are terminating or have the allow-deletion annotation';
const ROLL_OUT_ADVICE = advise('verify again when the Machine Config Operator has rolled out a config');

/**
 * Sends dry-run deletions of a config in use and of an unused one, and derives the state from all that is known.
 *
 * @throws ClusterAccessError, CliError, or the signal's reason
 */
export async function verifyProtection(api: KubeApi, signal = NEVER_ABORTED): Promise<VerifyReport> {
  const evidence = await readEvidence(api, signal);
  const { used, answer, unused, unusedAnswer } = await sendDryRuns(api, signal);
  const { mode, webhooks = null, floor = null } = evidence;
  const report = {
    server: api.address,
    webhooks,
    floor,
    mode,
    unused:
      unused && unusedAnswer
        ? { config: unused.config, wouldBeDeleted: unusedAnswer.status < 400, message: unusedAnswer.message }
        : null,
  };
  if (used === undefined || answer === undefined) {
    const blocked =
      unusedAnswer && deriveProtection(evidence, { answer: unusedAnswer, kind: 'Node', unused: unusedAnswer });
    const explanation =
      used === undefined ? NOTHING_IN_USE : `${used.config} was released or deleted during the dry run`;
    const unknown = { ...UNKNOWN, explanation, advice: ROLL_OUT_ADVICE };
    return { ...report, ...(blocked?.state === 'BLOCKED' ? blocked : unknown), dryRun: null, answer: null };
  }
  const { kind, name, field } = used.reference;
  const protection = deriveProtection(evidence, { answer, kind, unused: unusedAnswer });
  return { ...report, ...protection, dryRun: { config: used.config, kind, name, field }, answer };
}

/** The answers, without one for a config that its referrers have released since they were listed. */
async function sendDryRuns(api: KubeApi, signal: AbortSignal) {
  for (let attemptsLeft = MAX_ATTEMPTS; ; attemptsLeft -= 1) {
    const { used, unused } = await findCandidates(api, signal);
    // The unused config comes first: deleting it would do less harm.
    const unusedAnswer = unused && (await dryRunDeletion(api, unused, signal));
    const answer = used && (await dryRunDeletion(api, used, signal));
    const isDenied = answer !== undefined && answer.status >= 400;
    const isCertain = used === undefined || isDenied || (await findCandidates(api, signal)).inUse.has(used.config);
    if (isCertain) return { used, unused, unusedAnswer, answer };
    if (attemptsLeft <= 1) return { used, unused, unusedAnswer, answer: undefined };
  }
}
