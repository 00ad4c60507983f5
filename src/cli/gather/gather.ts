import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { parseDuration } from '../../common/duration.ts';
import { mapConcurrently } from '../../client/map-concurrently.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { describeError } from '../../kube/errors.ts';
import { ClusterAccessError, readObject } from '../../client/cluster-access.ts';
import { addClusterFlags, type ClusterFlags } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { parseOutputDirectory } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import { explainFileErrors, prepareEmptyDirectory } from '../../client/output-directory.ts';
import { withKubeApi } from '../../client/with-kube-api.ts';
import { redact } from './redact.ts';

interface GatherFlags extends ClusterFlags {
  readonly out: string;
  /** In seconds. */
  readonly since?: string;
}

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
    .addHelpText(
      'after',
      `
Writes the MachineConfigGuard, webhooks, policies, Deployment, pods and their
logs, Lease, Events, and the result of check, each in a file of its own.
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
      await runGather(flags, new Output(command, flags));
    });
  return addClusterFlags(command);
}

async function runGather(flags: GatherFlags, output: Output): Promise<void> {
  const { out, since } = flags;
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
  await withKubeApi(flags, 'machineconfig-guard/gather', async (api) => {
    await prepareEmptyDirectory(out);
    const { listParts } = await import('./gather-state.ts');
    // Needs no right and no etcd.
    await readObject(api, '/version');
    await write('version', VERSION_FILE);
    const logQuery = since === undefined ? {} : { sinceSeconds: since };
    const parts = await listParts(api, logQuery, output.format.commands);
    await mapConcurrently(parts, MAX_CONCURRENT_PARTS, async ({ file, read }) => {
      const content = await read().catch((error: unknown) => {
        const reason =
          error instanceof ClusterAccessError
            ? `${error.message}: ${describeError(error.cause)}`
            : describeError(error);
        failures.push(toPrintableLine(`${file}: ${reason}`, MAX_LINE_LENGTH));
        output.printNote(failures.at(-1) ?? '');
        return undefined;
      });
      // After a failed write, such as on a full disk, the other parts would fail, too.
      if (content !== undefined) await write(file, content);
    });
    if (failures.length > 0) await write('failures.txt', `${failures.join('\n')}\n`);
  });
  output.print(`${toPrintableLine(`wrote ${count} files to ${out}`, MAX_LINE_LENGTH)}\n`);
  if (failures.length > 0) throw new CliError('', EXIT_CODE.failure);
}

function parseSince(value: string): string {
  const ms = parseDuration(value);
  if (ms === undefined || ms < 1_000) throw new InvalidArgumentError('Must be a duration, such as 30m or 2h.');
  return String(Math.ceil(ms / 1_000));
}
