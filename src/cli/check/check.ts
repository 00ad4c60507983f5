import { Command, InvalidArgumentError, Option } from 'commander';
import type { KubeApi } from '../../kube/api.ts';
import { formatCheckReport } from './format-report.ts';
import { createProgress } from './progress.ts';
import { type CheckResult, buildCheckReport } from '../../inspect/check-report.ts';
import { pollUntilSettled } from '../../inspect/poll.ts';
import { createKubeApi, type ClusterFlags, addClusterFlags } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { parseDurationOption } from '../option-parsers.ts';
import { createPage } from '../page.ts';

interface CheckFlags extends ClusterFlags {
  readonly role?: string;
  readonly selector?: string;
  readonly minNodes: number;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly output: 'table' | 'json';
}

/** Longer than an install takes to get its nodes; what takes longer needs a person. */
const TIMEOUT_MS = 30 * 60_000;
/** A wrong address should be told while somebody still looks; an API server that restarts is back sooner. */
const FIRST_CONTACT_MS = 30_000;
/** Without --wait, an API server that is busy or restarting is asked again for so long. */
const RETRY_MS = 5_000;
const RETRY_POLL_MS = 500;
const TABLE_MAX = 120;

/** `check`: does every config that nodes and pools name exist? What an installer asks before it reboots a machine. */
export function createCheckCommand(): Command {
  const command = new Command('check')
    .description('Check that every config named by nodes and pools exists; with --wait, until it does.')
    .addOption(
      new Option(
        '--role <role>',
        'only nodes with this role, such as master, and the pools that choose them',
      ).argParser(role),
    )
    .addOption(
      new Option('-l, --selector <labels>', 'only nodes with these labels, and the pools that choose them').argParser(
        notEmpty,
      ),
    )
    .addOption(
      new Option('--min-nodes <n>', 'how many nodes there have to be at least').default(1).argParser(wholeNumber),
    )
    .option('--wait', 'wait until all is fine, or until something turns out that waiting does not heal')
    .addOption(
      new Option('--timeout <duration>', 'how long --wait waits')
        .default(TIMEOUT_MS, '30m')
        .argParser(parseDurationOption),
    )
    .addOption(new Option('-o, --output <format>', 'what to print').choices(['table', 'json']).default('table'))
    .addHelpText(
      'after',
      `
Fine means: every node has reported its current and its desired config, every pool's spec and status name one, and all of
these exist. Paused pools and nodes between two configs are fine. What the nodes say of their state and pending
certificate requests are shown and decide nothing.

Exit codes:
  0  fine
  1  not fine: now, or still when the timeout has passed, or in a way that waiting does not heal (said at once)
  2  wrong usage
  3  the API server cannot be reached or does not permit it. With --wait, one that has never answered is tried for 30 s;
     one that goes away in the middle until the timeout, and then the exit code is 3 if it is still away, 1 if it is back
     and not all is fine

Needs the rights to list nodes, machineconfigs and machineconfigpools; shows pending certificate requests where it may
list certificatesigningrequests. Changes nothing: commands that repair are printed and never run.

Examples:
  machineconfig-guard check
  machineconfig-guard check --role master --min-nodes 2 --wait --timeout 20m && reboot`,
    )
    .action(async (flags: CheckFlags) => {
      await check(flags, command);
    });
  return addClusterFlags(command);
}

async function check(flags: CheckFlags, command: Command): Promise<void> {
  if (flags.wait !== true && command.getOptionValueSource('timeout') === 'cli') {
    throw new CliError('--timeout says how long --wait waits: add --wait.', EXIT_CODE.usage);
  }
  const api = await createKubeApi(flags, 'machineconfig-guard/check');
  const { toCliError, isInvalidSelectorError, isNotServedError, isRetryableReadError } =
    await import('../cluster-error.ts');
  const waiting = flags.wait === true;
  const progress = waiting
    ? createProgress(process.stderr, createPage(process.stderr, process.env, TABLE_MAX), flags.timeout)
    : undefined;
  try {
    const { answer, waitedMs } = await pollUntilSettled({
      poll: (withinMs) => look(api, flags, withinMs),
      isSettled: ({ consistency: { ok, isRecoverable } }) => !waiting || ok || !isRecoverable,
      timeoutMs: waiting ? flags.timeout : RETRY_MS,
      ...(waiting ? {} : { pollMs: RETRY_POLL_MS }),
      patienceMs: (error, answered) => {
        if (isInvalidSelectorError(error)) return 0;
        if (!waiting) return isRetryableReadError(error) ? RETRY_MS : 0;
        if (answered || isNotServedError(error)) return flags.timeout;
        return isRetryableReadError(error) ? FIRST_CONTACT_MS : 0;
      },
      onAnswer: (answer, atMs) => progress?.showReport(buildCheckReport(answer, atMs), atMs),
      onFailure: (error, atMs) => progress?.showFailure(sentenceOf(toCliError(error, api)), atMs),
    });
    progress?.end();
    print(command, flags, answer, waiting ? waitedMs : 0);
    if (!answer.consistency.ok) throw new CliError('', EXIT_CODE.no);
  } catch (error) {
    throw toCliError(error, api);
  } finally {
    progress?.end();
    api.close();
  }
}

/** Reads everything and judges it. What waiting would not heal is looked at once more: it ends the wait. */
async function look(api: KubeApi, flags: CheckFlags, withinMs: number): Promise<CheckResult> {
  const [
    { readClusterSnapshot },
    { readPendingCertificateRequests },
    { readGuardExplanations },
    { withTimeout },
    { checkConsistency },
    { planRepairs },
  ] = await Promise.all([
    import('../../inspect/cluster-reader.ts'),
    import('../../inspect/certificate-requests.ts'),
    import('../../inspect/guard-explanations.ts'),
    import('../../kube/wait.ts'),
    import('../../inspect/consistency.ts'),
    import('../../inspect/repairs.ts'),
  ]);
  const selector = selectorOf(flags);
  const expectation = { isPartial: selector !== undefined, minNodes: flags.minNodes };
  return await withTimeout(withinMs, new AbortController().signal, async (signal) => {
    const reading = Promise.all([readPendingCertificateRequests(api, signal), readGuardExplanations(api, signal)]);
    const read = async () => {
      const snapshot = await readClusterSnapshot(api, selector, signal);
      return { snapshot, judged: checkConsistency(snapshot, expectation) };
    };
    let { snapshot, judged } = await read();
    // A node may have moved on between two lists, and its old config may be gone with good reason.
    if (!judged.ok && !judged.isRecoverable) ({ snapshot, judged } = await read());
    const [requests, explanations] = await reading;
    const pending = requests.readable ? requests.requests.map(({ name }) => name) : [];
    return {
      server: api.address,
      at: new Date(),
      consistency: judged,
      requests,
      explanations,
      repairs: planRepairs(judged, snapshot.configs, pending),
    };
  });
}

function print(command: Command, flags: CheckFlags, checked: CheckResult, waitedMs: number): void {
  const report = buildCheckReport(checked, waitedMs);
  // A pipe has no width; its lines are as long as is still easy to read.
  const page = createPage(
    { isTTY: process.stdout.isTTY, columns: process.stdout.columns ?? TABLE_MAX },
    process.env,
    TABLE_MAX,
  );
  const end = flags.wait !== true ? undefined : report.ok ? 'fine' : report.canHeal ? 'timeout' : 'hopeless';
  const text =
    flags.output === 'json'
      ? `${JSON.stringify(report, null, 2)}\n`
      : formatCheckReport(page, report, checked.repairs, end);
  command.configureOutput().writeOut?.(text);
}

/** What the nodes must match, in the API's own syntax; undefined for all. */
function selectorOf({ role, selector }: CheckFlags): string | undefined {
  const terms = [
    ...(role === undefined ? [] : [`node-role.kubernetes.io/${role}`]),
    ...(selector === undefined ? [] : [selector]),
  ];
  return terms.length === 0 ? undefined : terms.join(',');
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a label's name may be (kubernetes, "Labels and Selectors"). */
const LABEL_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

function role(value: string): string {
  if (!LABEL_NAME.test(value)) throw new InvalidArgumentError('A role is one word, such as master or worker.');
  return value;
}

/** The API server reads it: its syntax is that of kubectl. An empty one would select everything. */
function notEmpty(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('It must not be empty; without it, all nodes are checked.');
  return value;
}

function wholeNumber(value: string): number {
  if (!/^[1-9]\d{0,5}$/.test(value)) throw new InvalidArgumentError('It must be a whole number from 1 on.');
  return Number(value);
}
