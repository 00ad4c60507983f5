import { Command, Option } from 'commander';
import { assertNamespaceExists, hasAnswered } from '../../client/cluster-access.ts';
import { type ClusterStatus, readClusterStatus, summarizeEvidence } from './cluster-status.ts';
import type { KubeApi } from '../../kube/api.ts';
import { describeError } from '../../kube/errors.ts';
import { waitOrAbort } from '../../common/wait.ts';
import { toCliError } from '../../client/cluster-error.ts';
import { addClusterFlags, type ClusterFlags, createKubeApi, getGuardNamespace } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { createOutputOption, createParser } from '../../client/option-parsers.ts';
import { advise, inContext, LOGIN_ADVICE } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { formatStatusReport, type StatusEntry, type StatusReport } from './format-status.ts';

interface StatusFlags extends ClusterFlags {
  readonly contexts?: string;
  readonly output: 'text' | 'wide' | 'json' | 'yaml';
}

/** An administrator's machine and a VPN serve this many handshakes at once. */
const MAX_CONCURRENT_CLUSTERS = 10;
/** Unless `--request-timeout` is set. */
const CLUSTER_TIMEOUT_MS = 10_000;

/** All values are null. */
const UNREAD: Omit<ClusterStatus, 'server'> = {
  ...summarizeEvidence(
    { namespace: '', guard: null, webhooks: undefined, floor: undefined, deployment: null, lease: null },
    new Date(),
  ),
  advice: null,
  evidence: [],
  unreadable: [],
};

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
is Enforce and a replica is ready. PROTECTED (floor) means that only the policy
floor protects. Only verify tests a deletion.
It asks up to 10 clusters at a time, and each for up to 10 s or the time of
--request-timeout. With all, it asks one context for each cluster and user.
Permissions: get machineconfigguards; without the others of the ClusterRole
machineconfig-guard-reader, the state is UNKNOWN.

Exit codes:
  0  every cluster is PROTECTED
  1  a cluster is BLOCKED, EXPOSED, UNKNOWN or UNREACHABLE, or only the policy
     floor protects it although the guard is installed
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
      const { mapConcurrently } = await import('../../common/map-concurrently.ts');
      const output = new Output(command, flags);
      const results = await mapConcurrently(contexts, MAX_CONCURRENT_CLUSTERS, (context) =>
        readEntry(flags, context, output),
      );
      const clusters = results.map(({ entry }) => entry);
      const report: StatusReport = { readAt: new Date().toISOString(), clusters };
      output.printReport(report, formatStatusReport(output.format, report));
      if (results.every(({ isDenied }) => isDenied)) throw new CliError('', EXIT_CODE.clusterAccess);
      if (!clusters.every(isFine)) throw new CliError('', EXIT_CODE.failure);
    });
  return addClusterFlags(command);
}

async function selectContexts(flags: StatusFlags): Promise<readonly string[]> {
  const { readContexts } = await import('../../client/kubeconfig.ts');
  const { current, names, distinct } = readContexts(flags);
  if (flags.contexts === 'all' && distinct.length > 0) return distinct;
  const single = flags.context ?? current;
  if (flags.contexts === undefined && single !== undefined) return [single];
  if (flags.contexts === undefined || names.length === 0) {
    const advice = names.length === 0 ? LOGIN_ADVICE : advise('choose one with --context or --contexts');
    throw new CliError('the kubeconfig has no current-context', EXIT_CODE.clusterAccess, { advice });
  }
  // A context that does not exist is an entry with that error.
  return [...new Set(flags.contexts.split(','))];
}

/** A registered guard that does not work is a problem, although the policy floor protects. */
function isFine({ protected: isProtected, by, failurePolicy }: StatusEntry): boolean {
  return isProtected && (by !== 'floor' || failurePolicy === null);
}

interface ReadResult {
  readonly entry: StatusEntry;
  /** Whether the cluster is unreachable or denies access. */
  readonly isDenied: boolean;
}

/** A cluster that cannot be read is an entry with the reason. */
async function readEntry(
  { context: _context, ...flags }: StatusFlags,
  context: string,
  output: Output,
): Promise<ReadResult> {
  const { requestTimeout = 0 } = flags;
  const signal = AbortSignal.timeout(requestTimeout === 0 ? CLUSTER_TIMEOUT_MS : requestTimeout);
  let api: KubeApi | undefined;
  try {
    api = await createKubeApi({ ...flags, context }, 'machineconfig-guard/status');
    await waitOrAbort(assertNamespaceExists(api, flags.namespace), signal);
    const status = await waitOrAbort(readClusterStatus(api, getGuardNamespace(flags)), signal);
    const advice = status.advice && inContext(status.advice, context);
    return { entry: { context, ...status, advice }, isDenied: false };
  } catch (error) {
    const cause = api === undefined ? error : toCliError(error, api, { ...flags, context });
    const isDenied = cause instanceof CliError;
    const state = hasAnswered(error) || !isDenied ? 'UNKNOWN' : 'UNREACHABLE';
    const explanation = isDenied ? output.describeError(cause) : `unexpected error: ${describeError(cause)}`;
    const entry = { context, ...UNREAD, server: api?.address ?? null, state, explanation } as const;
    return { entry, isDenied };
  } finally {
    api?.close();
  }
}
