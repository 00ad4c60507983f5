import { Command, Option } from 'commander';
import type { ClusterApi } from '../cluster/api.ts';
import type { Installed, Judgement, TrialAnswer } from '../install/verification.ts';
import { clusterApi, type ClusterFlags, withClusterFlags } from './cluster-options.ts';
import { CliError, EXIT } from './exit.ts';

interface VerifyFlags extends ClusterFlags {
  readonly output: 'text' | 'json';
}

/** What `verify --output json` prints. */
interface VerifyReport {
  readonly protected: boolean;
  readonly by: 'guard' | 'floor' | null;
  readonly explanation: string;
  readonly advice: string;
  readonly webhook: NonNullable<Installed['webhook']> | null;
  readonly floor: readonly string[];
  readonly mode: string | null;
  readonly tried: {
    readonly config: string;
    readonly kind: string;
    readonly name: string;
    readonly field: string;
  } | null;
  readonly answer: TrialAnswer | null;
  /** The same for a config that nothing uses; null where there is none. */
  readonly unused: { readonly config: string; readonly wouldBeDeleted: boolean; readonly message: string } | null;
}

/** A candidate may go while we look at it. */
const ATTEMPTS = 3;

/** `verify`: is a config in use really protected? Asks the API server by a dry run; can never delete anything. */
export function verifyCommand(): Command {
  const command = new Command('verify')
    .description(
      'See whether the deletion of a config in use is refused, and by whom. A dry run: nothing is ever deleted.',
    )
    .addOption(new Option('--output <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Chooses a rendered MachineConfig that a node (or a pool) uses and asks the API server to delete it with dryRun=All.
Needs the rights to get what is installed, to list nodes, pools and configs, and to delete machineconfigs.

Exit codes: 0 protected (the guard or the policies refuse), 1 not protected, 3 the cluster cannot be reached or does not permit it.

Example:
  machineconfig-guard verify --kubeconfig ~/.kube/config`,
    )
    .action(async (flags: VerifyFlags) => {
      const api = await clusterApi(flags, 'machineconfig-guard-verify');
      try {
        const report = await verify(api);
        const text = flags.output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : asText(report);
        command.configureOutput().writeOut?.(text);
        if (!report.protected) throw new CliError('', EXIT.no);
      } finally {
        api.close();
      }
    });
  return withClusterFlags(command);
}

async function verify(api: ClusterApi): Promise<VerifyReport> {
  const [{ judge }, { readInstalled }, { candidates, tryDeletion }] = await Promise.all([
    import('../install/verification.ts'),
    import('./verify-installed.ts'),
    import('./verify-trial.ts'),
  ]);
  const installed = await readInstalled(api);
  for (let attempt = 1; ; attempt += 1) {
    const { used, unused } = await candidates(api);
    const other = unused === undefined ? undefined : await tryDeletion(api, unused);
    const second =
      unused === undefined || other === undefined || other.status === 404
        ? null
        : { config: unused.config, wouldBeDeleted: other.status < 400, message: other.message };
    if (used === undefined) return reportOf(installed, NOTHING_TO_TRY, null, null, second);
    const answer = await tryDeletion(api, used);
    if (answer.status === 404 && attempt < ATTEMPTS) continue;
    const { kind, name, field } = used.reference;
    return reportOf(installed, judge(answer, installed), { config: used.config, kind, name, field }, answer, second);
  }
}

const NOTHING_TO_TRY: Judgement = {
  protected: false,
  by: undefined,
  explanation:
    'there is nothing to try it with: no rendered MachineConfig exists that a node or a pool uses (and that has no allow-deletion annotation)',
  advice: 'come back once the Machine Config Operator has rendered one',
};

function reportOf(
  { webhook, floor, mode }: Installed,
  { protected: isProtected, by, explanation, advice }: Judgement,
  tried: VerifyReport['tried'],
  answer: TrialAnswer | null,
  unused: VerifyReport['unused'],
): VerifyReport {
  return {
    protected: isProtected,
    by: by ?? null,
    explanation,
    advice,
    webhook: webhook ?? null,
    floor,
    mode: mode ?? null,
    tried,
    answer,
    unused,
  };
}

function asText(report: VerifyReport): string {
  const { webhook, floor, mode, tried, answer, unused, explanation, advice } = report;
  const rows: readonly (readonly [string, string])[] = [
    [
      'webhook',
      webhook === null ? 'none' : `machineconfig-guard, failurePolicy ${webhook.failurePolicy}, ${bundleOf(webhook)}`,
    ],
    ['policies', floor.length === 0 ? 'none that refuse' : floor.join(', ')],
    ['mode', mode ?? 'Enforce (there is no MachineConfigGuard)'],
    ...(tried === null
      ? []
      : [
          [
            'tried',
            `dry-run deletion of ${tried.config}, in use by ${tried.kind} ${tried.name} (${tried.field})`,
          ] as const,
        ]),
    ...(answer === null
      ? []
      : [['answer', answer.status < 400 ? 'it would be deleted' : `${answer.status} ${answer.message}`] as const]),
    ...(unused === null
      ? []
      : [
          [
            'unused',
            `${unused.config} ${unused.wouldBeDeleted ? 'could be deleted' : `would be refused: ${unused.message}`}`,
          ] as const,
        ]),
  ];
  const verdict = `${report.protected ? 'Protected' : 'NOT PROTECTED'}: ${explanation}.`;
  return [
    ...rows.map(([what, said]) => `${what.padEnd(9)} ${said}`),
    '',
    verdict,
    ...(advice === '' ? [] : [`Do: ${advice}`]),
    '',
  ].join('\n');
}

function bundleOf({ caBundle, injected }: NonNullable<VerifyReport['webhook']>): string {
  if (caBundle) return 'a caBundle';
  return injected ? 'no caBundle yet: it is to be injected' : 'no caBundle';
}
