import { Command } from 'commander';
import { toPrintableLine } from '../../common/printable-text.ts';
import { addClusterFlags, type ClusterFlags, getGuardNamespace, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { createOutputOption } from '../../client/option-parsers.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { formatNext, type ReportFormat, wrapText } from '../../client/output/text-format.ts';
import { pollUntilSettled } from '../../client/poll.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { TrialResponse } from '../protection/assess-trial.ts';
import { assertDryRunIsHonored, findTrialCandidates, tryDryRunDeletion } from '../protection/trial-deletion.ts';
import { deleteObject, findInstalledObjects } from './installed-objects.ts';

interface UninstallFlags extends ClusterFlags {
  readonly confirm?: boolean;
  readonly output: 'text' | 'json' | 'yaml';
}

/** Scripts rely on these JSON field names. */
export interface UninstallReport {
  readonly confirmed: boolean;
  readonly objects: readonly {
    readonly kind: string;
    readonly namespace: string | null;
    readonly name: string;
  }[];
  /** Null if nothing was deleted, or the cluster has no config that a dry run can delete. */
  readonly tried: { readonly config: string; readonly answer: TrialResponse } | null;
  readonly advice: Advice | null;
}

/** Every API server applies a deleted webhook configuration within seconds. */
const PROOF_TIMEOUT_MS = 30_000;
const DENIERS = 'validatingwebhookconfigurations,validatingadmissionpolicybindings';
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
rendered MachineConfig proves that nothing denies it.
The namespace and the CRD take their content with them.
Permissions: list all kinds that it finds. With --confirm: delete them, and the
permissions of verify.

Exit codes:
  0  listed, or deleted and nothing denies a deletion
  1  a deletion is still denied
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
      if (isDenied(report)) throw new CliError('', EXIT_CODE.failure);
    });
  return addClusterFlags(command);
}

async function uninstall(api: KubeApi, flags: UninstallFlags): Promise<UninstallReport> {
  const { confirm: confirmed = false } = flags;
  const found = await findInstalledObjects(api, getGuardNamespace(flags));
  const objects = found.map(({ kind, namespace, name }) => ({ kind, namespace, name }));
  if (!confirmed) {
    const advice =
      found.length === 0 ? null : advise('delete these objects', ['machineconfig-guard', 'uninstall', '--confirm']);
    return { confirmed, objects, tried: null, advice };
  }
  await assertDryRunIsHonored(api);
  for (const object of found) await deleteObject(api, object);
  const tried = await tryDeletion(api);
  const isAllowed = tried === null || tried.answer.status < 400;
  return {
    confirmed,
    objects,
    tried,
    advice: isAllowed ? null : advise('list what can deny', ['oc', 'get', DENIERS]),
  };
}

/** Requests a dry run until nothing denies it. */
async function tryDeletion(api: KubeApi): Promise<UninstallReport['tried']> {
  const { answer } = await pollUntilSettled({
    read: async () => {
      const { used, unused } = await findTrialCandidates(api);
      const candidate = used ?? unused;
      if (candidate === undefined) return null;
      const response = await tryDryRunDeletion(api, candidate);
      return response === undefined ? undefined : { config: candidate.config, answer: response };
    },
    isSettled: (result) => result === null || (result !== undefined && result.answer.status < 400),
    timeoutMs: PROOF_TIMEOUT_MS,
    retryUntilMs: () => 0,
  });
  return answer ?? null;
}

function isDenied({ tried }: UninstallReport): boolean {
  return tried !== null && tried.answer.status >= 400;
}

function formatReport({ confirmed, objects, tried, advice }: UninstallReport, format: ReportFormat): string {
  const lines = objects.map(({ kind, namespace, name }) => {
    return `  ${kind} ${name}${namespace === null ? '' : ` in namespace ${namespace}`}`;
  });
  if (objects.length === 0) lines.push('No object of the guard exists.');
  else lines.unshift(confirmed ? 'Deleted:' : 'Would delete:');
  if (confirmed) lines.push('', ...wrapText(describeTrial(tried), format.width));
  if (advice !== null) lines.push('', ...formatNext(format, advice));
  return [...lines, ''].join('\n');
}

function describeTrial(tried: UninstallReport['tried']): string {
  if (tried === null) return 'No dry run: there is no rendered MachineConfig to delete.';
  const { config, answer } = tried;
  if (answer.status < 400) return `Nothing denies the deletion of ${config} (dry run).`;
  const message = toPrintableLine(answer.message, MAX_ANSWER_LENGTH);
  return `The deletion of ${config} is still denied (dry run): ${answer.status} ${message}`;
}
