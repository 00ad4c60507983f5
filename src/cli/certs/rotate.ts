import { X509Certificate } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Command, Option } from 'commander';
import { OutputDirectoryError, prepareOutputDirectory, writeOutputFiles } from '../../install/output-directory.ts';
import { MAX_DAYS } from '../../certificates/validity.ts';
import type { RotationInput } from '../../install/rotation.ts';
import { createKubeApi, type ClusterFlags, addClusterFlags } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { parseDays } from '../option-parsers.ts';

interface RotateFlags extends ClusterFlags {
  readonly out: string;
  readonly from?: string;
  readonly days: number;
  readonly force?: boolean;
  readonly output: 'text' | 'json';
}

/** What `certs rotate --output json` prints. Times are RFC 3339, fingerprints SHA-256 in hex with colons. */
interface RotateReport {
  readonly files: readonly string[];
  readonly old: CertificateSummary;
  readonly new: CertificateSummary;
  /** Authorities of an unfinished rotation, which this one drops. */
  readonly leftOver: number;
  /** How long to wait after the first step and after the second, at least. */
  readonly waitSeconds: number;
}

interface CertificateSummary {
  readonly fingerprint256: string;
  readonly notAfter: string;
}

const NAME = 'machineconfig-guard';
/**
 * An exchanged Secret is in use after two seconds, and an API server that is well notices a change at once; the rest is for one
 * that is not.
 */
const WAIT_S = 30;

/** `certs rotate`: renders the steps by which the authority is exchanged. Reads the cluster and changes nothing. */
export function createRotateCommand(clock: () => Date = () => new Date()): Command {
  const command = new Command('rotate')
    .description('Render the three steps that exchange the authority of an installation without a refused call.')
    .requiredOption('--out <dir>', 'directory for the three files; made if it is not there')
    .option('--from <dir>', 'read the installation from a rendered set instead of from the cluster')
    .option('--days <n>', `days until the new authority expires, 1 to ${MAX_DAYS}`, parseDays, MAX_DAYS)
    .option('--force', 'replace the files of an earlier run')
    .addOption(new Option('--output <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Nothing is applied. Each step can be repeated; where you stop in the middle, calls go on being answered, and a new
run starts from what is there. Needs the right to get the Secret machineconfig-guard-ca and the webhook configuration.

Example:
  machineconfig-guard certs rotate --out rotation/`,
    )
    .action(async (flags: RotateFlags) => {
      const report = await rotate(flags, clock());
      command
        .configureOutput()
        .writeOut?.(flags.output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : asText(report));
    });
  return addClusterFlags(command);
}

async function rotate(flags: RotateFlags, now: Date): Promise<RotateReport> {
  if (flags.out === '') throw new CliError('--out needs the name of a directory.', EXIT_CODE.usage);
  const { planRotation, RotationError, ROTATION_FILES } = await import('../../install/rotation.ts');
  try {
    const start = flags.from === undefined ? await readCluster(flags) : await readRenderedSet(flags.from);
    const plan = planRotation(start, now);
    await prepareOutputDirectory(flags.out, ROTATION_FILES, flags.force === true);
    const { createAuthority } = await import('../../certificates/authority.ts');
    const fresh = await createAuthority({ days: flags.days, now });
    const files = Object.values(await writeOutputFiles(flags.out, plan.files(fresh)));
    return {
      files,
      old: summaryOf(plan.old),
      new: summaryOf(new X509Certificate(fresh.certificatePem)),
      leftOver: plan.leftOver,
      waitSeconds: WAIT_S,
    };
  } catch (error) {
    if (error instanceof RotationError) throw new CliError(`${error.message}.`, EXIT_CODE.no, { cause: error });
    if (error instanceof OutputDirectoryError) throw new CliError(error.message, EXIT_CODE.usage, { cause: error });
    throw error;
  }
}

async function readCluster(flags: RotateFlags): Promise<RotationInput> {
  const api = await createKubeApi(flags, 'machineconfig-guard-certs');
  const { readObject } = await import('../../inspect/read-object.ts');
  try {
    const resource = 'validatingwebhookconfigurations.admissionregistration.k8s.io';
    const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
    const webhookConfiguration = await readObject(api, `${path}/${NAME}`, { verb: 'get', resource });
    const secretPath = `/api/v1/namespaces/${NAME}/secrets/${NAME}-ca`;
    const secret = await readObject(api, secretPath, { verb: 'get', resource: 'secrets', namespace: NAME });
    if (webhookConfiguration === undefined) {
      throw new CliError(
        `there is no webhook configuration ${NAME} at ${api.address}: the guard is not installed.`,
        EXIT_CODE.no,
      );
    }
    return { webhookConfiguration, secret: secret ?? {} };
  } finally {
    api.close();
  }
}

async function readRenderedSet(directory: string): Promise<RotationInput> {
  const [{ parse }, { OWN_FILE_NAME }] = await Promise.all([import('yaml'), import('../../install/installation.ts')]);
  const read = async (kind: string): Promise<unknown> => {
    try {
      const names = (await readdir(directory)).filter((name) => OWN_FILE_NAME.test(name));
      const name = names.find((one) => one.endsWith(`-${kind}.yaml`));
      return name === undefined ? {} : parse(await readFile(path.join(directory, name), 'utf8'));
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? 'it is no YAML';
      throw new CliError(`${directory} cannot be read as a rendered set: ${why}.`, EXIT_CODE.usage, { cause: error });
    }
  };
  return { webhookConfiguration: await read('validatingwebhookconfiguration'), secret: await read('secret') };
}

function summaryOf(certificate: X509Certificate): CertificateSummary {
  return { fingerprint256: certificate.fingerprint256, notAfter: new Date(certificate.validTo).toISOString() };
}

function asText({ files: [first = '', second = '', third = ''], old, new: fresh, leftOver }: RotateReport): string {
  return [
    `Wrote ${first}, ${second} (private key, mode 0600) and ${third}`,
    `  old authority  expires at ${old.notAfter}, SHA-256 ${old.fingerprint256}`,
    `  new authority  expires at ${fresh.notAfter}, SHA-256 ${fresh.fingerprint256}`,
    ...(leftOver === 0
      ? []
      : [`  An earlier rotation was not finished: ${leftOver} more in the bundle, dropped by the first step.`]),
    '',
    'Next, in this order:',
    `  oc apply -f ${first}`,
    `  sleep ${WAIT_S}`,
    `  oc apply -f ${second}`,
    `  sleep ${WAIT_S}`,
    `  oc apply -f ${third}`,
    '',
    'A rendered set that is kept somewhere still holds the old authority; applied again it would bring that back.',
    'Render it again with --ca-cert-file and --ca-key-file.',
    '',
  ].join('\n');
}
