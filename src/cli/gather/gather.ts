import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { parseDuration } from '../../common/duration.ts';
import { mapConcurrently } from '../../common/map-concurrently.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { describeError } from '../../kube/errors.ts';
import { ClusterAccessError, readObject } from '../../client/cluster-access.ts';
import { addClusterFlags, type ClusterFlags, getGuardNamespace } from '../../client/cluster-options.ts';
import { withKubeApi } from '../../client/with-kube-api.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { parseOutputDirectory } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import { explainFileErrors, prepareEmptyDirectory } from '../../client/output-directory.ts';
import type { Part } from './gather-state.ts';
import { redact } from './redact.ts';

interface GatherFlags extends ClusterFlags {
  readonly out: string;
  readonly since?: LogQuery;
  readonly sinceTime?: LogQuery;
}

/** Parameters of a log request. */
type LogQuery = Readonly<Record<string, string>>;

/** The API server limits the requests of a user, too. */
const MAX_CONCURRENT_PARTS = 8;
const MAX_LINE_LENGTH = 1_000;
/** A sign for people and tools that look into a must-gather (openshift/enhancements, oc/must-gather.md). */
const VERSION_FILE = `machineconfig-guard/gather\n${packageJson.version}\n`;

export function createGatherCommand(): Command {
  const command = new Command('gather')
    .description('Write the state of the guard into a directory, for a bug report.')
    .requiredOption('--out <dir>', 'empty output directory; created if missing', parseOutputDirectory)
    .addOption(
      new Option('--since <duration>', 'only logs of this last time, such as 2h (default: all logs)')
        .env('MUST_GATHER_SINCE')
        .argParser(parseSince),
    )
    .addOption(
      new Option('--since-time <time>', 'only logs after this time, such as 2026-11-23T07:00:00Z')
        .env('MUST_GATHER_SINCE_TIME')
        .argParser(parseSinceTime)
        .conflicts('since'),
    )
    .addHelpText(
      'after',
      `
Writes the MachineConfigGuard, webhooks, policies, Deployment, pods and their
logs, Lease, Events, and the result of check, in the layout of oc adm inspect.
It reads no Secret, no ConfigMap and no content of a MachineConfig. It replaces
bearer tokens, private keys and passwords in URLs. Host names, node names and
user names stay: look into the directory before you share it.
What cannot be read is listed in failures.txt.
"oc adm must-gather --image=IMAGE" runs this command in the image of the guard.

Exit codes:
  0  everything was gathered
  1  a part could not be read: failures.txt names it
  2  wrong usage, or the directory is not empty or cannot be written
  3  no usable kubeconfig, or the API server is unreachable or rejects it;
     nothing was gathered

Example:
  machineconfig-guard gather --out guard-state --since 2h`,
    )
    .action(async (flags: GatherFlags) => {
      await runGather(flags, command);
    });
  return addClusterFlags(command, { hasNamespace: true });
}

async function runGather(flags: GatherFlags, command: Command): Promise<void> {
  const { out, since, sinceTime } = flags;
  const output = new Output(command, flags);
  const failures: string[] = [];
  let count = 0;
  const write = async (file: string, content: string): Promise<void> => {
    const target = path.join(out, file);
    await explainFileErrors(out, async () => {
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(target, redact(content));
    });
    count += 1;
  };
  const gather = async ({ name, read }: Part): Promise<void> => {
    const files = await read().catch((error: unknown) => {
      failures.push(toPrintableLine(`${name}: ${explainFailure(error)}`, MAX_LINE_LENGTH));
      output.printNote(failures.at(-1) ?? '');
      return {};
    });
    for (const [file, content] of Object.entries(files)) await write(file, content);
  };
  await withKubeApi(flags, 'machineconfig-guard/gather', async (api) => {
    await prepareEmptyDirectory(out);
    const { listParts } = await import('./gather-state.ts');
    // Needs no right and no etcd.
    await readObject(api, '/version');
    await write('version', VERSION_FILE);
    const logQuery = { ...since, ...sinceTime };
    const parts = await listParts(api, getGuardNamespace(flags), logQuery, output.format.commands);
    // After a failed write, such as on a full disk, the other parts would fail, too.
    await mapConcurrently(parts, MAX_CONCURRENT_PARTS, gather);
    if (failures.length > 0) await write('failures.txt', `${failures.join('\n')}\n`);
  });
  output.print(toPrintableLine(`wrote ${count} files to ${out}`, MAX_LINE_LENGTH) + '\n');
  if (failures.length > 0) throw new CliError('', EXIT_CODE.failure);
}

function explainFailure(error: unknown): string {
  if (!(error instanceof ClusterAccessError)) return describeError(error);
  return `${error.message}: ${describeError(error.cause)}`;
}

function parseSince(value: string): LogQuery {
  const ms = parseDuration(value);
  if (ms === undefined || ms < 1_000) throw new InvalidArgumentError('Must be a duration, such as 30m or 2h.');
  return { sinceSeconds: String(Math.ceil(ms / 1_000)) };
}

function parseSinceTime(value: string): LogQuery {
  if (/^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))) return { sinceTime: value };
  throw new InvalidArgumentError('Must be a time, such as 2026-11-23T07:00:00Z.');
}
