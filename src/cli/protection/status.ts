import { Command, Option } from 'commander';
import { hasAnswered } from '../../client/cluster-access.ts';
import { addClusterFlags, type ReportFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE, ReportedFailure } from '../../client/exit.ts';
import { createOutputOption, createParser } from '../../client/option-parsers.ts';
import { inContext } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { formatAge } from '../../client/output/short-forms.ts';
import { type Cell, formatNarrowTable, NONE } from '../../client/output/table.ts';
import { formatNext, type ReportFormat, wrapText } from '../../client/output/text-format.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import { describeError } from '../../kube/errors.ts';
import { type Evidence, findCondition, findHeldLease, type PolicyBinding, readEvidence } from './evidence.ts';
import { deriveProtection, isComplete, type Protection, type ProtectionState, VERIFY_ADVICE } from './protection.ts';
import type { Mode } from '../../api/settings.ts';
import type { StoredGuard } from '../../client/guard-report.ts';

/** The JSON of `status --output json`. Its keys are a contract. Unknown values are null. */
export interface StatusReport {
  /** RFC 3339. */
  readonly readAt: string;
  /** In the order of `--contexts`. */
  readonly clusters: readonly ClusterStatus[];
}

/** One cluster of `status`. */
export interface ClusterStatus extends Omit<EvidenceSummary, 'state'> {
  /** Of the kubeconfig. */
  readonly context: string;
  /** Host and port of the API server. Null if the kubeconfig has no usable server. */
  readonly server: string | null;
  readonly state: ProtectionState | 'UNREACHABLE';
}

/** What the objects of a cluster show. `status` sends no request to a guard. */
interface EvidenceSummary extends Protection {
  /** The parts that could not be read, because a right is missing or after an error. Their values are null. */
  readonly unreadable: readonly (keyof Evidence)[];
  /** Of the guard that has written the status. */
  readonly version: string | null;
  /** Null without a MachineConfigGuard. Enforce then applies. */
  readonly mode: Mode | null;
  /** `Fail` or `Ignore`. */
  readonly failurePolicy: string | null;
  /** The bindings of the policy floor. */
  readonly floor: readonly PolicyBinding[] | null;
  /** How many replicas the Deployment wants. */
  readonly replicas: number | null;
  readonly readyReplicas: number | null;
  /** The pod that writes the status. */
  readonly leader: string | null;
  /** RFC 3339. */
  readonly leaderRenewedAt: string | null;
  /** The condition CertificatesValid. */
  readonly certificates: { readonly valid: boolean; readonly reason: string; readonly message: string } | null;
  /** How many existing configs are in use. */
  readonly protectedConfigs: number | null;
  /** How many references name a config that does not exist. */
  readonly danglingCount: number | null;
  readonly lastDenial: NonNullable<NonNullable<StoredGuard['status']>['lastDenial']> | null;
}

interface StatusFlags extends ReportFlags {
  readonly contexts?: string;
}

/** An administrator's machine and a VPN serve this many handshakes at once. */
const MAX_CONCURRENT_CLUSTERS = 10;
const REQUEST_TIMEOUT_MS = 10_000;
const UNTESTED_NOTE = 'The states come from the objects of the clusters. Whether a guard answers was not tested.';
const NOTHING = { guard: undefined, webhooks: undefined, floor: undefined, deployment: undefined, lease: undefined };
const UNREAD = summarizeEvidence({ ...NOTHING, readAt: new Date(0), mode: null, servesPolicies: false });

const parseContexts = createParser(/^[^,]+(?:,[^,]+)*$/, 'Must be all, or names separated by commas.');

export function createStatusCommand(): Command {
  const command = new Command('status')
    .description('Show whether clusters are protected, one line for each. Sends no dry run.')
    .addOption(
      new Option('--contexts <names>', 'contexts of the kubeconfig, separated by commas, or all')
        .argParser(parseContexts)
        .conflicts('context'),
    )
    .addOption(createOutputOption())
    .addHelpText(
      'after',
      `
PROTECTED means that the webhook is registered, the mode is Enforce, and the
Deployment or the Lease shows a running replica. It does not test whether the
guard answers: only verify sends a dry-run deletion. PROTECTED (floor) means
that only the policy floor protects.
It asks up to 10 clusters at a time. A request takes at most 10 s or the time of
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
      const { default: PQueue } = await import('p-queue');
      const output = new Output(command, flags);
      const queue = new PQueue({ concurrency: MAX_CONCURRENT_CLUSTERS });
      const results = await queue.addAll(contexts.map((context) => () => readEntry(flags, context, output)));
      const clusters = results.map(({ entry }) => entry);
      const report: StatusReport = { readAt: new Date().toISOString(), clusters };
      output.printReport(report, formatStatusReport(output.format, report));
      if (results.every(({ isDenied }) => isDenied)) throw new ReportedFailure(EXIT_CODE.clusterAccess);
      if (!clusters.every(isComplete)) throw new ReportedFailure();
    });
  return addClusterFlags(command);
}

async function selectContexts(flags: StatusFlags): Promise<readonly string[]> {
  const { loadConnection, readContexts } = await import('../../client/kubeconfig.ts');
  const { current, distinct } = readContexts(flags);
  const named = flags.contexts?.split(',') ?? [flags.context ?? current ?? []].flat();
  const contexts = flags.contexts === 'all' ? distinct : named;
  // It throws the error of a kubeconfig without a context.
  if (contexts.length === 0) loadConnection(flags);
  // A context that does not exist is an entry with that error.
  return [...new Set(contexts)];
}

async function readEntry(flags: StatusFlags, context: string, output: Output) {
  let server: string | null = null;
  try {
    const requestTimeout = flags.requestTimeout || REQUEST_TIMEOUT_MS;
    const command = { name: 'status', role: 'reader', output } as const;
    return await withKubeApi({ ...flags, requestTimeout, context }, command, async (api) => {
      server = api.address;
      const status = summarizeEvidence(await readEvidence(api, NEVER_ABORTED));
      const advice = status.advice && inContext(status.advice, context);
      const waysOut = status.waysOut.map((way) => inContext(way, context));
      return { entry: { context, server, ...status, advice, waysOut }, isDenied: false };
    });
  } catch (error) {
    const isDenied = error instanceof CliError;
    const state = isDenied && !hasAnswered(error.cause) ? 'UNREACHABLE' : 'UNKNOWN';
    const explanation = isDenied ? error.message : `unexpected error: ${describeError(error)}`;
    const [advice = null] = isDenied ? error.advice.map((each) => inContext(each, context)) : [];
    const entry: ClusterStatus = { context, server, ...UNREAD, state, explanation, failing: explanation, advice };
    return { entry, isDenied };
  }
}

/** Of a cluster that was read. */
export function summarizeEvidence(evidence: Evidence): EvidenceSummary {
  const { guard, mode, floor, deployment } = evidence;
  const holder = findHeldLease(evidence.lease);
  const status = guard?.status ?? {};
  const certificates = findCondition(guard, 'CertificatesValid');
  const { reason = '', message = '' } = certificates ?? {};
  return {
    ...deriveProtection(evidence),
    unreadable: (Object.keys(evidence) as (keyof Evidence)[]).filter((part) => evidence[part] === undefined),
    version: status.version ?? null,
    mode,
    failurePolicy: evidence.webhooks?.[0]?.failurePolicy ?? null,
    floor: floor ?? null,
    replicas: deployment?.spec?.replicas ?? null,
    readyReplicas: deployment ? (deployment.status?.readyReplicas ?? 0) : null,
    // The identity is the name of the pod and a random part.
    leader: holder?.holderIdentity?.replace(/_.*$/, '') ?? null,
    leaderRenewedAt: holder?.renewTime ?? null,
    certificates: certificates ? { valid: certificates.status === 'True', reason, message } : null,
    protectedConfigs: status.protectedConfigs ?? null,
    danglingCount: status.danglingCount ?? null,
    lastDenial: status.lastDenial ?? null,
  };
}

export function formatStatusReport(format: ReportFormat, { clusters, readAt }: StatusReport): string {
  const now = Date.parse(readAt);
  const rows = clusters.map((entry) => createRow(entry, now));
  const details = clusters.flatMap((entry) => formatDetails(format, entry));
  const [first, ...others] = clusters.filter(isRead);
  const advice = first && inContext(VERIFY_ADVICE, others.length > 0 ? 'CONTEXT' : first.context);
  const isUntested = clusters.some(({ protected: isProtected }) => isProtected);
  const note = isUntested && advice ? [...wrapText(UNTESTED_NOTE, format.width), ...formatNext(format, advice)] : [];
  const table = formatNarrowTable(format, HEADERS, rows, DISPENSABLE, '-o json also has');
  return `${[table, ...details, ...note].join('\n').trimEnd()}\n`;
}

const HEADERS = ['CONTEXT', 'STATE', 'MODE', 'REPLICAS', 'CERTIFICATES', 'DANGLING', 'LAST DENIAL'];

/** The columns that a narrow terminal loses first. Text below the table says what is wrong with most of them. */
const DISPENSABLE = ['LAST DENIAL', 'CERTIFICATES', 'REPLICAS', 'MODE', 'DANGLING'];

function createRow(entry: ClusterStatus, now: number): readonly Cell[] {
  const { replicas, readyReplicas, certificates, danglingCount, lastDenial, unreadable } = entry;
  const replicaCounts = replicas === null ? null : `${readyReplicas}/${replicas}`;
  const denialAge = lastDenial?.time === undefined ? null : formatAge(now - Date.parse(lastDenial.time));
  const state = entry.by === 'floor' ? `${entry.state} (floor)` : entry.state;
  const known = [toCell(entry.context), toCell(state, !entry.protected)];
  if (!isRead(entry)) return known;
  return [
    ...known,
    toCell(entry.mode),
    unreadable.includes('deployment')
      ? { text: '<unknown>' }
      : toCell(replicaCounts, (readyReplicas ?? 0) < (replicas ?? 0)),
    toCell(certificates?.reason ?? null, certificates?.valid === false),
    toCell(danglingCount, (danglingCount ?? 0) > 0),
    toCell(denialAge),
  ];
}

function isRead({ unreadable }: ClusterStatus): boolean {
  return !unreadable.includes('guard');
}

function formatDetails(format: ReportFormat, entry: ClusterStatus): string[] {
  const { context, state, explanation, advice, waysOut } = entry;
  if (state === 'PROTECTED' && advice === null) return [];
  const text = toPrintableLine(`${context}: ${state}: ${explanation}`);
  const width = format.width - 2;
  const next = formatNext({ ...format, width }, advice, ...waysOut);
  const [first, ...lines] = [...wrapText(text, width), ...next];
  return [first ?? '', ...lines.map((line) => `  ${line}`), ''];
}

function toCell(value: string | number | null, isProblem = false): Cell {
  return { text: String(value ?? NONE), style: isProblem ? 'red' : undefined };
}
