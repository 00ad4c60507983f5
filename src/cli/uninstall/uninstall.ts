import { Command } from 'commander';
import { addClusterFlags, type ClusterFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { createOutputOption } from '../../client/option-parsers.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { formatNext, getLineWidth, type ReportFormat, wrapText } from '../../client/output/text-format.ts';
import { pollUntilSettled } from '../../client/poll.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { TrialResponse } from '../protection/assess-trial.ts';
import { assertDryRunIsHonored, findTrialCandidates, tryDryRunDeletion } from '../protection/trial-deletion.ts';
import { deleteObject, findInstalledObjects, type InstalledObject } from './installed-objects.ts';

interface UninstallFlags extends ClusterFlags {
  readonly confirm?: boolean;
  readonly output: 'text' | 'json' | 'yaml';
}

/** The JSON of `--output json`. Its keys are a contract. */
export interface UninstallReport {
  readonly confirmed: boolean;
  readonly objects: readonly InstalledObject[];
  /** Objects that still exist after their deletion. */
  readonly remaining: readonly InstalledObject[];
  /** Null if nothing was deleted, or the cluster has no config that a dry run can delete. */
  readonly tried: { readonly config: string; readonly answer: TrialResponse } | null;
  readonly advice: Advice | null;
}

/** Every API server applies a deleted webhook configuration within seconds. The pods have a grace period of 30 s. */
const PROOF_TIMEOUT_MS = 30_000;
const REMOVAL_TIMEOUT_MS = 120_000;
const MAX_ANSWER_LENGTH = 1_000;

export function createUninstallCommand(): Command {
  const command = new Command('uninstall')
    .description('List the objects of every installed version and profile, and delete them with --confirm.')
    .option('--confirm', 'delete the objects')
    .addOption(createOutputOption(['text', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
Finds objects by the label app.kubernetes.io/name=machineconfig-guard, and by
the names of older versions. Deletes webhook configurations and policies first,
because without the guard they deny deletions. Then a dry-run deletion of a
rendered MachineConfig proves that nothing denies it. The namespace and the CRD
take their content with them. Waits up to 2 minutes for their end.
Permissions: list all these kinds. --confirm: delete them; those of verify.

Exit codes:
  0  listed, or deleted and nothing denies a deletion
  1  a deletion is still denied, or an object still exists
  2  wrong usage
  3  the API server is unreachable or denies access

Examples:
  machineconfig-guard uninstall
  machineconfig-guard uninstall --confirm`,
    )
    .action(async (flags: UninstallFlags) => {
      const output = new Output(command, flags);
      const report = await withKubeApi(flags, 'machineconfig-guard/uninstall', (api) => uninstall(api, flags));
      output.printReport(report, formatReport(report, output.format));
      if (isDenied(report.tried) || report.remaining.length > 0) throw new CliError('', EXIT_CODE.failure);
    });
  return addClusterFlags(command);
}

async function uninstall(api: KubeApi, { confirm: confirmed = false }: UninstallFlags): Promise<UninstallReport> {
  const objects = await findInstalledObjects(api);
  if (!confirmed) {
    const next = advise('delete these objects', ['machineconfig-guard', 'uninstall', '--confirm']);
    return { confirmed, objects, remaining: [], tried: null, advice: objects.length === 0 ? null : next };
  }
  await assertDryRunIsHonored(api);
  for (const object of objects) await deleteObject(api, object);
  const tried = await tryDeletion(api);
  const { answer: remaining } = await pollUntilSettled({
    read: () => findInstalledObjects(api),
    isSettled: (left) => left.length === 0,
    timeoutMs: REMOVAL_TIMEOUT_MS,
    retryUntilMs: () => 0,
  });
  return { confirmed, objects, remaining, tried, advice: chooseAdvice(tried, remaining) };
}

/** Requests a dry run until nothing denies it. */
async function tryDeletion(api: KubeApi): Promise<UninstallReport['tried']> {
  const { answer } = await pollUntilSettled({
    read: async () => {
      const { used, unused } = await findTrialCandidates(api);
      const candidate = used ?? unused;
      if (candidate === undefined) return null;
      const response = await tryDryRunDeletion(api, candidate);
      return response && { config: candidate.config, answer: response };
    },
    isSettled: (tried) => tried !== undefined && !isDenied(tried),
    timeoutMs: PROOF_TIMEOUT_MS,
    retryUntilMs: () => 0,
  });
  return answer ?? null;
}

function isDenied(tried: UninstallReport['tried']): boolean {
  return tried !== null && tried.answer.status >= 400;
}

function chooseAdvice(tried: UninstallReport['tried'], [first]: readonly InstalledObject[]): Advice | null {
  if (isDenied(tried)) {
    const kinds = 'validatingwebhookconfigurations,validatingadmissionpolicybindings';
    return advise('list what can deny', ['oc', 'get', kinds]);
  }
  if (first === undefined) return null;
  const scope = first.namespace === null ? [] : ['-n', first.namespace];
  const command = ['oc', 'get', first.kind.toLowerCase(), first.name, ...scope, '-o', 'yaml'];
  return advise('see in its status and finalizers what keeps the first one', command);
}

function formatReport(report: UninstallReport, format: ReportFormat): string {
  const { confirmed, objects, remaining, tried, advice } = report;
  const lines = ['No object of the guard exists.'];
  if (objects.length > 0) lines.splice(0, 1, confirmed ? 'Deleted:' : 'Would delete:', ...objects.map(formatObject));
  if (confirmed) lines.push('', ...wrapText(describeTrial(tried), getLineWidth(format)));
  if (remaining.length > 0) lines.push('', 'Still there:', ...remaining.map(formatObject));
  if (advice !== null) lines.push('', ...formatNext(format, advice));
  return [...lines, ''].join('\n');
}

function formatObject({ kind, namespace, name }: InstalledObject): string {
  return `  ${kind} ${name}${namespace === null ? '' : ` in namespace ${namespace}`}`;
}

function describeTrial(tried: UninstallReport['tried']): string {
  if (tried === null) return 'No dry run: there is no rendered MachineConfig to delete.';
  const { config, answer } = tried;
  if (answer.status < 400) return `Nothing denies the deletion of ${config} (dry run).`;
  const message = toPrintableLine(answer.message, MAX_ANSWER_LENGTH);
  return `The deletion of ${config} is still denied (dry run): ${answer.status} ${message}`;
}
