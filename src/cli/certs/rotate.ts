import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { MAX_DAYS } from '../../certificates/validity.ts';
import { readObject } from '../../inspect/cluster-access.ts';
import type { RotationInput } from '../../install/rotation.ts';
import { AUTHORITY_SECRET_PATH, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import { summarizeCertificate } from '../certificate-summary.ts';
import { addClusterFlags, type ClusterFlags, withKubeApi } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { createOutputOption, parseDays, parseOutputDirectory } from '../option-parsers.ts';
import { prepareOutputDirectory, writeOutputFiles } from '../output-directory.ts';
import { printReport } from '../report-output.ts';

interface RotateFlags extends ClusterFlags {
  readonly out: string;
  readonly from?: string;
  readonly days: number;
  readonly force?: boolean;
  readonly output: 'text' | 'json' | 'yaml';
}

/** Scripts rely on these JSON field names. */
type RotateReport = Awaited<ReturnType<typeof rotate>>;

const NAME = 'machineconfig-guard';
/** A new Secret takes effect after 2 s. */
const WAIT_SECONDS = 30;

export function createRotateCommand(): Command {
  const command = new Command('rotate')
    .description('Write three manifests that replace the authority of an installation without a failed call.')
    .requiredOption('--out <dir>', 'directory for the three files; created if missing', parseOutputDirectory)
    .option('--from <dir>', 'read the installation from this rendered directory instead of the cluster')
    .option('--days <n>', `days until the new authority expires, 1 to ${MAX_DAYS}`, parseDays, MAX_DAYS)
    .option('--force', 'overwrite the files of an earlier run')
    .addOption(createOutputOption(['text', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
The command applies nothing. You can repeat each step. If you stop after a step,
calls still succeed, and a new run continues from there.
Permissions: get Secret machineconfig-guard-ca and
ValidatingWebhookConfiguration machineconfig-guard.
Exit codes: 0 written, 1 nothing to rotate, 2 wrong usage, unwritable directory
or existing files, 3 the API server is unreachable or denies access.

Example:
  machineconfig-guard certs rotate --out rotation/`,
    )
    .action(async (flags: RotateFlags) => {
      const report = await rotate(flags, new Date());
      printReport(command, flags.output, report, formatReport(report));
    });
  return addClusterFlags(command);
}

async function rotate({ out, from, days, force, ...clusterFlags }: RotateFlags, now: Date) {
  const { planRotation, RotationError } = await import('../../install/rotation.ts');
  try {
    const plan = planRotation(
      from === undefined ? await readCluster(clusterFlags) : await readRenderedSet(from),
      now,
    );
    const { createAuthority } = await import('../../certificates/authority.ts');
    const authority = await createAuthority({ days, now });
    const files = plan.renderFiles(authority);
    const names = files.map(({ name }) => name);
    await prepareOutputDirectory(out, names, force === true);
    await writeOutputFiles(out, files);
    return {
      files: names.map((name) => path.join(out, name)),
      old: summarizeCertificate(plan.oldCertificatePem),
      new: summarizeCertificate(authority.certificatePem),
      leftOver: plan.leftOver,
      waitSeconds: WAIT_SECONDS,
    };
  } catch (error) {
    if (error instanceof RotationError) throw new CliError(error.message, EXIT_CODE.failure, { cause: error });
    throw error;
  }
}

async function readCluster(flags: ClusterFlags): Promise<RotationInput> {
  return await withKubeApi(flags, 'machineconfig-guard-certs', async (api) => {
    const webhookConfiguration = await readObject(api, objectPath(WEBHOOK_CONFIGURATIONS_PATH, NAME));
    const secret = (await readObject(api, AUTHORITY_SECRET_PATH)) ?? {};
    if (webhookConfiguration !== undefined) return { webhookConfiguration, secret };
    const message = `${api.address} has no webhook configuration ${NAME}: the guard is not installed`;
    throw new CliError(message, EXIT_CODE.failure);
  });
}

async function readRenderedSet(directory: string): Promise<RotationInput> {
  const [{ parse }, { OWN_FILE_NAME }] = await Promise.all([
    import('yaml'),
    import('../../install/installation.ts'),
  ]);
  const read = async (kind: string): Promise<object> => {
    const names = await readdir(directory);
    const name = names.find((file) => OWN_FILE_NAME.test(file) && file.endsWith(`-${kind}.yaml`));
    return name === undefined ? {} : (parse(await readFile(path.join(directory, name), 'utf8')) as object);
  };
  try {
    return {
      webhookConfiguration: await read('validatingwebhookconfiguration'),
      secret: await read('secret'),
    };
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'a file is not YAML';
    const message = `cannot read ${directory} as the output of render: ${reason}`;
    throw new CliError(message, EXIT_CODE.usage, { cause: error });
  }
}

function formatReport({ files, old, new: newAuthority, leftOver }: RotateReport): string {
  const [first = '', second = '', third = ''] = files;
  const leftOverNote = `  An earlier rotation is unfinished: step 1 removes ${leftOver} more from the caBundle.`;
  return [
    `Wrote ${first}, ${second} (private key, mode 0600) and ${third}`,
    `  old authority  expires on ${old.notAfter}, SHA-256 ${old.fingerprint256}`,
    `  new authority  expires on ${newAuthority.notAfter}, SHA-256 ${newAuthority.fingerprint256}`,
    ...(leftOver === 0 ? [] : [leftOverNote]),
    '',
    'Next, in this order:',
    `  oc apply -f ${first}`,
    `  sleep ${WAIT_SECONDS}`,
    `  oc apply -f ${second}`,
    `  sleep ${WAIT_SECONDS}`,
    `  oc apply -f ${third}`,
    '',
    'Stored output of `render` still contains the old authority. Do not apply it again. Render it with',
    '--ca-cert-file and --ca-key-file.',
    '',
  ].join('\n');
}
