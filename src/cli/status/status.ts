import { Command, Option } from 'commander';
import { joinWithAnd } from '../../common/printable-text.ts';
import { hasAnswered } from '../../inspect/cluster-access.ts';
import { readClusterStatus } from '../../inspect/cluster-status.ts';
import type { KubeApi } from '../../kube/api.ts';
import { waitOrAbort } from '../../common/wait.ts';
import { toCliError } from '../cluster-error.ts';
import { addClusterFlags, type ClusterFlags, createKubeApi, getGuardNamespace } from '../cluster-options.ts';
import { addFlagsToAdvice } from '../command-flags.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { createOutputOption, createParser } from '../option-parsers.ts';
import { printReport } from '../report-output.ts';
import { createTableFormat } from '../text-format.ts';
import { formatStatusReport, type StatusEntry, type StatusReport } from './format-report.ts';

interface StatusFlags extends ClusterFlags {
  readonly contexts?: string;
  readonly output: 'text' | 'wide' | 'json' | 'yaml';
}

/** An administrator's machine and a VPN serve this many handshakes at once. */
const MAX_CONCURRENT_CLUSTERS = 10;
/** Unless `--request-timeout` is set. */
const CLUSTER_TIMEOUT_MS = 10_000;

const UNREAD = {
  protected: false,
  by: null,
  advice: '',
  evidence: [],
  unreadable: [],
  version: null,
  mode: null,
  failurePolicy: null,
  replicas: null,
  readyReplicas: null,
  leader: null,
  leaderRenewedAt: null,
  certificates: null,
  protectedConfigs: null,
  danglingCount: null,
  lastDenial: null,
} as const satisfies Partial<StatusEntry>;

const parseContexts = createParser(/^[^,]+(?:,[^,]+)*$/, 'Must be all, or names separated by commas.');

export function createStatusCommand(): Command {
  const command = new Command('status')
    .description('Show whether clusters are protected, one line for each. Tries no deletion.')
    .addOption(
      new Option('--contexts <names>', 'contexts of the kubeconfig, separated by commas, or all')
        .argParser(parseContexts)
        .conflicts('context'),
    )
    .addOption(createOutputOption(['text', 'wide', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
Reads the MachineConfigGuard, the webhook configuration, the bindings of the
policy floor, and the Deployment and Lease in the namespace
machineconfig-guard. PROTECTED means that the webhook is registered, the mode
is Enforce and a replica is ready. Only verify tests a deletion.
It asks up to 10 clusters at a time, and each for up to 10 s or the time of
--request-timeout. With all, it asks one context for each cluster and user.
Permissions: get machineconfigguards; without the others of the ClusterRole
machineconfig-guard-reader, the state is UNKNOWN.

Exit codes:
  0  every cluster is PROTECTED
  1  a cluster is BLOCKED, EXPOSED, UNKNOWN or UNREACHABLE
  2  wrong usage
  3  no usable kubeconfig or context, or every cluster is unreachable or denies
     access

Examples:
  machineconfig-guard status
  machineconfig-guard status --contexts all
  machineconfig-guard status --contexts prod-a,prod-b -o json`,
    )
    .action(async (flags: StatusFlags) => {
      const contexts = await selectContexts(flags);
      const clusters = await readAll(flags, contexts);
      const report: StatusReport = { readAt: new Date().toISOString(), clusters };
      const format = createTableFormat(process.stdout, flags.output === 'wide');
      printReport(command, flags.output, report, formatStatusReport(format, report, flags));
      if (clusters.every(({ evidence }) => evidence.length === 0))
        throw new CliError('', EXIT_CODE.clusterAccess);
      if (!clusters.every((cluster) => cluster.protected)) throw new CliError('', EXIT_CODE.failure);
    });
  return addClusterFlags(command);
}

async function selectContexts(flags: StatusFlags): Promise<readonly string[]> {
  const { readContexts, KubeconfigError } = await import('../kubeconfig.ts');
  try {
    const { current, names, distinct } = readContexts(flags);
    if (flags.contexts === 'all' && distinct.length > 0) return distinct;
    const single = flags.context ?? current;
    if (flags.contexts === undefined && single !== undefined) return [single];
    if (flags.contexts === undefined || names.length === 0) {
      const advice = names.length === 0 ? 'log in with: oc login' : 'choose one with --context or --contexts';
      throw new CliError(`the kubeconfig has no current-context; ${advice}`, EXIT_CODE.clusterAccess);
    }
    const wanted = [...new Set(flags.contexts.split(','))];
    const unknown = wanted.find((name) => !names.includes(name));
    if (unknown === undefined) return wanted;
    const problem = `the kubeconfig has no context "${unknown}"; it has ${joinWithAnd(names)}`;
    throw new CliError(problem, EXIT_CODE.clusterAccess);
  } catch (error) {
    throw error instanceof KubeconfigError ? new CliError(error.message, EXIT_CODE.clusterAccess) : error;
  }
}

/** In the order of the contexts. */
async function readAll(flags: StatusFlags, contexts: readonly string[]): Promise<StatusEntry[]> {
  const { default: PQueue } = await import('p-queue');
  const queue = new PQueue({ concurrency: MAX_CONCURRENT_CLUSTERS });
  return await queue.addAll(contexts.map((context) => async () => await readEntry(flags, context)));
}

/** A cluster that cannot be read is an entry with the reason. */
async function readEntry({ context: _context, ...flags }: StatusFlags, context: string): Promise<StatusEntry> {
  const { requestTimeout = 0 } = flags;
  const signal = AbortSignal.timeout(requestTimeout === 0 ? CLUSTER_TIMEOUT_MS : requestTimeout);
  let api: KubeApi | undefined;
  try {
    api = await createKubeApi({ ...flags, context }, 'machineconfig-guard/status');
    const status = await waitOrAbort(readClusterStatus(api, getGuardNamespace(flags)), signal);
    const advice = addFlagsToAdvice(status.advice, { ...flags, context });
    return { context, ...status, advice };
  } catch (error) {
    const cause = api === undefined ? error : toCliError(error, api, { ...flags, context });
    if (!(cause instanceof CliError)) throw cause;
    const state = hasAnswered(error) ? 'UNKNOWN' : 'UNREACHABLE';
    return { context, ...UNREAD, server: api?.address ?? null, state, explanation: cause.message };
  } finally {
    api?.close();
  }
}
