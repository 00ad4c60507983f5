import { Command, Option } from 'commander';
import type { KubeApi } from '../../kube/api.ts';
import { type ConfigName, toConfigName } from '../../decision/config-name.ts';
import { pollUntilSettled } from '../../inspect/poll.ts';
import { createKubeApi, type ClusterFlags, addClusterFlags } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { createPage } from '../page.ts';
import {
  POINT_IN_TIME_NOTICE,
  formatUnusedNames,
  formatUnusedReport,
  formatReferrerNames,
  formatReferencesReport,
} from './format-report.ts';
import {
  type UnusedReport,
  type ClusterReferences,
  findUnusedConfigs,
  buildUnusedReport,
  buildReferencesReport,
} from '../../inspect/references-report.ts';

interface WhoUsesFlags extends ClusterFlags {
  readonly unused?: boolean;
  readonly output: 'table' | 'json' | 'name';
}

/** One read of everything takes at most so long. */
const READ_MS = 30_000;
/** An API server that is busy or restarting is asked again for so long. */
const RETRY_MS = 5_000;
const RETRY_POLL_MS = 500;
/** Whole configs under way at once: their bytes are only counted, but the API server has to send them. */
const SIZES_AT_ONCE = 4;
const TABLE_MAX = 120;

/** A name as `oc get machineconfig -o name` writes it. */
const TYPED = /^(?:machineconfigs?|mc)(?:\.machineconfiguration\.openshift\.io)?\//;

/** `who-uses`: what names these configs, and which configs nothing names. */
export function createWhoUsesCommand(): Command {
  const command = new Command('who-uses')
    .description('Show what uses a rendered config, or which rendered configs nothing uses.')
    .argument('[config...]', 'names of MachineConfigs')
    .option('--unused', 'list the rendered configs that nothing uses, with pool, age and size, the oldest first')
    .addOption(
      new Option('-o, --output <format>', 'what to print; name: one name a line, for xargs')
        .choices(['table', 'json', 'name'])
        .default('table'),
    )
    .addHelpText(
      'after',
      `
In use means what it means for the guard: a node's currentConfig or desiredConfig, a pool's spec or status, or an
unfinished MachineOSBuild names the config. These are hard; a note (finished builds, drains, the first pivot) only
mentions it. A name that is not in the API is said to be so, with the nearest that is, and what names it all the same.

Exit codes:
  0  in use (of several: all of them); always with --unused
  1  not in use (of several: at least one of them)
  2  wrong usage
  3  the API server cannot be reached or does not permit it

Needs the rights to list nodes, machineconfigs, machineconfigpools and machineosbuilds, with --unused also to get
machineconfigs. Changes nothing.

Examples:
  machineconfig-guard who-uses rendered-worker-25a1be6c1264c64551ae911d23717173
  machineconfig-guard who-uses --unused
  machineconfig-guard who-uses --unused --output name | head -5 | xargs oc delete machineconfig`,
    )
    .action(async (names: readonly string[], flags: WhoUsesFlags) => {
      await whoUses(names, flags, command);
    });
  return addClusterFlags(command);
}

async function whoUses(names: readonly string[], flags: WhoUsesFlags, command: Command): Promise<void> {
  const asked = [...new Set(names.map((name) => toConfigName(name.replace(TYPED, ''))))];
  if (asked.some((name) => name.trim() === '')) throw new CliError('a config has no empty name.', EXIT_CODE.usage);
  if (flags.unused === true && asked.length > 0) {
    throw new CliError('--unused looks at all rendered configs: leave the names away.', EXIT_CODE.usage);
  }
  if (flags.unused !== true && asked.length === 0) {
    throw new CliError('name a config, or use --unused to list those that nothing uses.', EXIT_CODE.usage);
  }
  const api = await createKubeApi(flags, 'machineconfig-guard/who-uses');
  const { toCliError, isRetryableReadError } = await import('../cluster-error.ts');
  const read = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const { withTimeout } = await import('../../kube/wait.ts');
    const { answer } = await pollUntilSettled({
      poll: async () => await withTimeout(READ_MS, new AbortController().signal, work),
      isSettled: () => true,
      timeoutMs: RETRY_MS,
      pollMs: RETRY_POLL_MS,
      patienceMs: (error) => (isRetryableReadError(error) ? RETRY_MS : 0),
      onAnswer: () => {},
      onFailure: () => {},
    });
    return answer;
  };
  const write = (text: string): void => {
    command.configureOutput().writeOut?.(text);
  };
  const page = createPage(
    { isTTY: process.stdout.isTTY, columns: process.stdout.columns ?? TABLE_MAX },
    process.env,
    TABLE_MAX,
  );
  try {
    if (flags.unused === true) {
      const report = await unused(api, read);
      if (flags.output === 'json') write(`${JSON.stringify(report, null, 2)}\n`);
      else write(flags.output === 'name' ? formatUnusedNames(report) : formatUnusedReport(page, report));
      if (flags.output === 'name') command.configureOutput().writeErr?.(`${POINT_IN_TIME_NOTICE}\n`);
      return;
    }
    const report = buildReferencesReport(await read((signal) => usage(api, 'referrers first', signal)), asked);
    if (flags.output === 'json') write(`${JSON.stringify(report, null, 2)}\n`);
    else write(flags.output === 'name' ? formatReferrerNames(report) : formatReferencesReport(page, report));
    if (!report.allUsed) throw new CliError('', EXIT_CODE.no);
  } catch (error) {
    throw toCliError(error, api);
  } finally {
    api.close();
  }
}

type Read = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/**
 * Reads everything. What is read last is the more recent: configs, where it is asked whether one exists that something names;
 * what names them, where it is asked which configs nothing names.
 */
async function usage(
  api: KubeApi,
  order: 'configs first' | 'referrers first',
  signal: AbortSignal,
): Promise<ClusterReferences> {
  const { readConfigs, readReferrers } = await import('../../inspect/cluster-reader.ts');
  let configs = order === 'configs first' ? await readConfigs(api, signal) : undefined;
  const referrers = await readReferrers(api, signal);
  configs ??= await readConfigs(api, signal);
  return { server: api.address, at: new Date(), configs, referrers };
}

async function unused(api: KubeApi, read: Read): Promise<UnusedReport> {
  const { readConfigSize } = await import('../../inspect/cluster-reader.ts');
  const found = await read((signal) => usage(api, 'configs first', signal));
  const candidates = findUnusedConfigs(found);
  const sizes = new Map<ConfigName, number>();
  const show = sizeProgress(candidates.length);
  const rest = candidates[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const { name } of rest) {
      const bytes = await read((signal) => readConfigSize(api, name, signal));
      if (bytes !== undefined) sizes.set(name, bytes);
      show(sizes.size);
    }
  };
  try {
    await Promise.all(Array.from({ length: SIZES_AT_ONCE }, worker));
  } finally {
    show(undefined);
  }
  return buildUnusedReport(found, candidates, sizes);
}

/** On a terminal, how many sizes have been read; undefined takes the line away. */
function sizeProgress(total: number): (read: number | undefined) => void {
  if (!process.stderr.isTTY) return () => {};
  return (read) => {
    process.stderr.write(read === undefined ? '\r\u001B[K' : `\rreading sizes: ${read} of ${total}`);
  };
}
