import { Command } from 'commander';
import { isRetryableRead } from '../../client/cluster-access.ts';
import { describeRetry } from '../../client/cluster-error.ts';
import { addClusterFlags, type ReportFlags, withKubeApi } from '../../client/cluster-options.ts';
import { ReportedFailure } from '../../client/exit.ts';
import { createOutputOption, createTimeoutOption } from '../../client/option-parsers.ts';
import { advise } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { formatNext, getLineWidth, type ReportFormat, wrapBeside, wrapText } from '../../client/output/text-format.ts';
import { pollUntilSettled } from '../../client/poll.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import type { KubeApi } from '../../kube/api.ts';
import { type DryRunAnswer, dryRunDeletion, findCandidates } from './dry-run-deletion.ts';
import { findCondition, type PolicyBinding, readEvidence, type RegisteredWebhook } from './evidence.ts';
import { deriveProtection, GUARD_UNTESTED, isComplete, type Protection, UNKNOWN } from './protection.ts';
import type { Mode } from '../../api/settings.ts';
import type { ReferrerKind } from '../../mco/referrer.ts';

/** The JSON of `verify --output json`. Its keys are a contract. What the user may not read is null. */
export interface VerifyReport extends Protection {
  /** Host and port of the API server. */
  readonly server: string;
  readonly webhooks: readonly RegisteredWebhook[] | null;
  /** The bindings of the policy floor. */
  readonly floor: readonly PolicyBinding[] | null;
  /** Null without a MachineConfigGuard. Enforce then applies. */
  readonly mode: Mode | null;
  /** Clauses. They do not change the state. */
  readonly warnings: readonly string[];
  /** The dry-run deletion of an unused config. Null if every config is in use. */
  readonly unused: { readonly config: string; readonly wouldBeDeleted: boolean; readonly message: string } | null;
  /** The config in use that the dry run deletes, and the reference to it. Null if none could be tested. */
  readonly dryRun: {
    readonly config: string;
    readonly kind: ReferrerKind;
    readonly name: string;
    readonly field: string;
  } | null;
  /** What the API server answered. A status below 400 would delete the config. */
  readonly answer: DryRunAnswer | null;
}

interface VerifyFlags extends ReportFlags {
  readonly wait?: boolean;
  readonly timeout: number;
}

const NOTHING_IN_USE =
  'no rendered MachineConfig is in use, apart from those that are terminating or have the allow-deletion annotation';
/** Of a pool. */
const UNDATED = 'without managedFields: the guard cannot tell since when the spec names its config';
const ROLL_OUT_ADVICE = advise('verify again when the Machine Config Operator has rolled out a config');

export function createVerifyCommand(): Command {
  const command = new Command('verify')
    .description('Verify that the guard denies the deletion of a config in use. Sends only dry runs.')
    .option('--wait', 'wait until the guard protects')
    .addOption(createTimeoutOption('5m'))
    .addOption(createOutputOption())
    .addHelpText(
      'after',
      `
Checks that the API server honors dry runs, and requests the deletion of a
rendered MachineConfig that a node (else a pool, else a build) uses.
--wait does not wait while the mode is Warn, Audit or Disabled.
Permissions: list, delete machineconfigs; list nodes, machineconfigpools,
machineosbuilds; get machineconfigguards; for the advice, those of status.

Exit codes:
  0  PROTECTED: the deletion of a config in use is denied
  1  BLOCKED: every deletion is denied, because the guard does not work.
     EXPOSED: the deletion is allowed. UNKNOWN: the dry run could not tell.
     PROTECTED, although something does not work or was not tested: an expired
     certificate, or the guard behind the policy floor
  2  wrong usage
  3  the API server is unreachable, denies access or does not honor dry runs

Examples:
  machineconfig-guard verify
  machineconfig-guard verify --wait --timeout 10m`,
    )
    .action(async (flags: VerifyFlags) => {
      const output = new Output(command, flags);
      await withKubeApi(flags, { name: 'verify', role: 'verify', output }, async (api) => {
        const report =
          flags.wait === true ? await wait(api, flags, output) : await verifyProtection(api, NEVER_ABORTED);
        output.printReport(report, formatReport(report, output.format));
        if (!isComplete(report)) throw new ReportedFailure();
      });
    });
  return addClusterFlags(command);
}

async function wait(api: KubeApi, flags: VerifyFlags, output: Output): Promise<VerifyReport> {
  const { answer } = await pollUntilSettled({
    read: (signal) => verifyProtection(api, signal),
    isSettled,
    timeoutMs: flags.timeout,
    signal: NEVER_ABORTED,
    retryUntilMs: (error) => (isRetryableRead(error) ? flags.timeout : 0),
    onAnswer: ({ state, explanation }, elapsedMs) => output.printProgress(`${state}: ${explanation}`, elapsedMs),
    onFailure: (error, elapsedMs) => output.printProgress(describeRetry(error, api), elapsedMs),
  });
  return answer;
}

/** A mode that does not deny stays. The policy floor denies before the pods of the guard run. */
function isSettled({ mode, ...protection }: VerifyReport): boolean {
  // An unused config can take days to appear.
  const isUntestable = protection.failing === GUARD_UNTESTED;
  return (mode !== null && mode !== 'Enforce') || isUntestable || isComplete(protection);
}

function formatReport(report: VerifyReport, format: ReportFormat): string {
  const width = getLineWidth(format);
  const { webhooks, floor, mode, warnings, unused, dryRun, answer, state, explanation, advice, waysOut } = report;
  const bindings = floor?.map(({ policy, actions }) => `${policy} (${actions.join(', ')})`);
  const facts: readonly (readonly [subject: string, text: string | null])[] = [
    ['webhook', webhooks?.map(formatWebhook).join('; ') ?? '<unknown>'],
    ['policies', bindings?.join(', ') ?? '<unknown>'],
    ['mode', mode ?? (webhooks?.length === 0 ? '' : 'Enforce (default: no MachineConfigGuard exists)')],
    [
      'unused',
      unused && `${unused.config} ${unused.wouldBeDeleted ? 'can be deleted' : `is denied: ${unused.message}`}`,
    ],
    ['dry run', dryRun && `deletion of ${dryRun.config}, in use by ${dryRun.kind} ${dryRun.name} (${dryRun.field})`],
    ['answer', answer && (answer.status < 400 ? 'allowed' : `${answer.status} ${answer.message}`)],
    ...warnings.map((warning) => ['warning', warning] as const),
  ];
  const lines = facts.flatMap(([subject, text]) =>
    text === null ? [] : wrapBeside(`${subject.padEnd(9)} `, toPrintableLine(text) || 'none', width),
  );
  return [
    ...lines,
    '',
    ...wrapText(`${state}: ${explanation}.`, width),
    ...formatNext(format, advice, ...waysOut),
    '',
  ].join('\n');
}

function formatWebhook({ configuration, failurePolicy, target, caBundle, ...webhook }: RegisteredWebhook): string {
  const trust = caBundle ? 'with caBundle' : 'no caBundle';
  const origin = webhook.flags ?? webhook.installation;
  return `${configuration} (${origin}), failurePolicy ${failurePolicy}, ${trust}, ${target}`;
}

/** @throws ClusterAccessError, CliError, or the signal's reason */
export async function verifyProtection(api: KubeApi, signal: AbortSignal): Promise<VerifyReport> {
  const evidence = await readEvidence(api, signal);
  const { used, unused, undatedPools } = await findCandidates(api, signal);
  // The unused config comes first: deleting it would do less harm.
  const unusedAnswer = unused && (await dryRunDeletion(api, unused, signal));
  let answer = used && (await dryRunDeletion(api, used, signal));
  // Its referrers can have released it since they were listed.
  if (used && answer && answer.status < 400 && !(await findCandidates(api, signal)).inUse.has(used.config)) {
    answer = undefined;
  }
  const derive = (): Protection => {
    const unusedRun = unusedAnswer && ({ answer: unusedAnswer, kind: 'Node', unused: unusedAnswer } as const);
    if (used && answer) return deriveProtection(evidence, { answer, kind: used.kind, unused: unusedAnswer });
    const blocked = unusedRun && deriveProtection(evidence, unusedRun);
    if (blocked?.state === 'BLOCKED') return blocked;
    const explanation = used ? `${used.config} was released or deleted during the dry run` : NOTHING_IN_USE;
    return { ...UNKNOWN, explanation, advice: ROLL_OUT_ADVICE };
  };
  const { reason, message } = findCondition(evidence.guard, 'CertificatesValid') ?? {};
  return {
    server: api.address,
    webhooks: evidence.webhooks ?? null,
    floor: evidence.floor ?? null,
    mode: evidence.mode,
    warnings: [
      ...(reason === 'ExpiresSoon' ? [`a certificate expires soon: ${message}`] : []),
      ...undatedPools.map((pool) => `pool ${pool} ${UNDATED}`),
    ],
    unused:
      unused && unusedAnswer
        ? { config: unused.config, wouldBeDeleted: unusedAnswer.status < 400, message: unusedAnswer.message }
        : null,
    ...derive(),
    dryRun: used && answer ? { config: used.config, kind: used.kind, name: used.name, field: used.field } : null,
    answer: answer ?? null,
  };
}
