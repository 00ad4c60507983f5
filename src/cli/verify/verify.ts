import { Command, Option } from 'commander';
import { toPrintableLine } from '../../decision/printable-text.ts';
import type { RegisteredWebhook } from '../../inspect/protection.ts';
import { type VerifyReport, verifyProtection } from '../../inspect/verify.ts';
import { addClusterFlags, type ClusterFlags, withKubeApi } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { printReport } from '../report-output.ts';

interface VerifyFlags extends ClusterFlags {
  readonly output: 'text' | 'json';
}

/** The message of a denial can be longer. The JSON contains all of it. */
const MAX_LINE_LENGTH = 1_000;

export function createVerifyCommand(): Command {
  const command = new Command('verify')
    .description(
      'See whether the deletion of a config in use is refused, and by whom. A dry run: nothing is ever deleted.',
    )
    .addOption(new Option('-o, --output <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Chooses a rendered MachineConfig that a node (else a pool, else a build) uses and asks the API server to delete it with
dryRun=All. Before that it makes sure that dry runs are honoured, and afterwards that the config is still there.

Exit codes:
  0  protected: the guard or the policies refuse
  1  not protected, and what to do about it; also where nothing is in use that it could be tried with
  3  the API server cannot be reached, does not permit it, or does not honour dry runs

Example:
  machineconfig-guard verify --kubeconfig ~/.kube/config`,
    )
    .action(async (flags: VerifyFlags) => {
      await withKubeApi(flags, 'machineconfig-guard/verify', async (api) => {
        const report = await verifyProtection(api, (part) => {
          if (flags.output === 'text') command.configureOutput().writeOut?.(formatProgress(part));
        });
        printReport(command, flags.output, report, formatConclusion(report));
        if (!report.protected) throw new CliError('', EXIT_CODE.no);
      });
    });
  return addClusterFlags(command);
}

function formatProgress({ webhooks, floor, mode, unused, tried, answer }: Partial<VerifyReport>): string {
  const lines: string[] = [];
  const addLine = (subject: string, text: string): void => {
    lines.push(`${subject.padEnd(9)} ${toPrintableLine(text, MAX_LINE_LENGTH)}\n`);
  };
  if (webhooks?.length === 0) addLine('webhook', 'none');
  for (const webhook of webhooks ?? []) addLine('webhook', formatWebhook(webhook));
  if (floor !== undefined) {
    const bindings = floor.map(({ policy, actions }) => `${policy} (${actions.join(', ')})`);
    addLine('policies', bindings.length === 0 ? 'none' : bindings.join(', '));
  }
  if (mode !== undefined) addLine('mode', mode ?? 'Enforce (there is no MachineConfigGuard)');
  if (unused) {
    const result = unused.wouldBeDeleted ? 'could be deleted' : `is refused: ${unused.message}`;
    addLine('unused', `${unused.config} ${result}`);
  }
  if (tried) {
    const { config, kind, name, field } = tried;
    addLine('tried', `dry-run deletion of ${config}, in use by ${kind} ${name} (${field})`);
  }
  if (answer) addLine('answer', answer.status < 400 ? 'it would be deleted' : `${answer.status} ${answer.message}`);
  return lines.join('');
}

function formatWebhook({ configuration, failurePolicy, target, caBundle, injected }: RegisteredWebhook): string {
  const missing = injected ? 'no caBundle yet: it is to be injected' : 'no caBundle';
  return `${configuration}, failurePolicy ${failurePolicy}, ${caBundle ? 'a caBundle' : missing}, ${target}`;
}

function formatConclusion({ protected: isProtected, explanation, advice }: VerifyReport): string {
  const verdict = `${isProtected ? 'Protected' : 'NOT PROTECTED'}: ${explanation}.`;
  return ['', verdict, ...(advice === '' ? [] : [`Do: ${advice}`]), ''].join('\n');
}
