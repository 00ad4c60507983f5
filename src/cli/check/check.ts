import { Command, Option } from 'commander';
import { checkCluster } from '../../inspect/check-report.ts';
import { toCliError } from '../cluster-error.ts';
import { addClusterFlags, type ClusterFlags, withKubeApi } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { createNumberParser, createParser, toDurationOption } from '../option-parsers.ts';
import { printReport } from '../report-output.ts';
import { createTableFormat } from '../text-format.ts';
import { formatCheckReport } from './format-report.ts';
import { Progress } from './progress.ts';

interface CheckFlags extends ClusterFlags {
  readonly role?: string;
  readonly selector?: string;
  readonly minNodes: number;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly output: 'table' | 'json';
}

/** Kubernetes, "Labels and Selectors". */
const LABEL_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const parseRole = createParser(LABEL_NAME, 'A role is one word, such as master or worker.');
/** The API server parses the selector. An empty one would select all nodes. */
const parseSelector = createParser(/\S/, 'It must not be empty; without it, all nodes are checked.');
const parseCount = createNumberParser(1, 999_999, 'It must be a whole number from 1 on.');

export function createCheckCommand(): Command {
  const command = new Command('check')
    .description('Check that every config named by nodes and pools exists; with --wait, until it does.')
    .option('--role <role>', 'only nodes with this role, such as master, and the pools that choose them', parseRole)
    .option('-l, --selector <labels>', 'only nodes with these labels, and the pools that choose them', parseSelector)
    .option('--min-nodes <n>', 'how many nodes there have to be at least', parseCount, 1)
    .option('--wait', 'wait until all is fine, or until something turns out that waiting does not heal')
    // Longer than an install needs for its nodes.
    .addOption(toDurationOption(new Option('--timeout <duration>', 'how long --wait waits'), '30m'))
    .addOption(new Option('-o, --output <format>', 'what to print').choices(['table', 'json']).default('table'))
    .addHelpText(
      'after',
      `
Fine means: every node has reported its current and its desired config, every pool's spec and status name one, and all
of these exist. Paused pools and nodes between two configs are fine. What the nodes say of their state and pending
certificate requests are shown and decide nothing.

Exit codes:
  0  fine
  1  not fine: now, or still when the timeout has passed, or in a way that waiting does not heal (said at once)
  3  the API server cannot be reached or does not permit it. With --wait, one that has never answered is tried for 30 s;
     one that goes away in the middle until the timeout

Changes nothing: commands that repair are printed and never run.

Examples:
  machineconfig-guard check
  machineconfig-guard check --role master --min-nodes 2 --wait --timeout 20m && reboot`,
    )
    .action((flags: CheckFlags) => check(flags, command));
  return addClusterFlags(command);
}

async function check(flags: CheckFlags, command: Command): Promise<void> {
  const isWaiting = flags.wait === true;
  if (!isWaiting && command.getOptionValueSource('timeout') === 'cli') {
    throw new CliError('--timeout says how long --wait waits: add --wait.', EXIT_CODE.usage);
  }
  await withKubeApi(flags, 'machineconfig-guard/check', async (api) => {
    const write = (text: string): void => command.configureOutput().writeErr?.(text);
    const progress = isWaiting ? new Progress(write, flags.timeout) : undefined;
    const { report, repairs } = await checkCluster(api, {
      selector: toLabelSelector(flags),
      minNodes: flags.minNodes,
      waitMs: isWaiting ? flags.timeout : undefined,
      onReport: (current, elapsedMs) => progress?.printReport(current, elapsedMs),
      onFailure: (error, elapsedMs) => progress?.printFailure((toCliError(error, api) as Error).message, elapsedMs),
    });
    const text = formatCheckReport(createTableFormat(process.stdout), report, repairs, isWaiting);
    printReport(command, flags.output, report, text);
    if (!report.ok) throw new CliError('', EXIT_CODE.no);
  });
}

function toLabelSelector({ role, selector }: CheckFlags): string | undefined {
  const roleTerm = role === undefined ? undefined : `node-role.kubernetes.io/${role}`;
  const terms = [roleTerm, selector].filter((term) => term !== undefined);
  return terms.length === 0 ? undefined : terms.join(',');
}
