import { X509Certificate } from 'node:crypto';
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { joinWithAnd } from '../../common/printable-text.ts';
import { MAX_DAYS } from '../../certificates/key-pair.ts';
import { summarizeCertificate } from '../../client/certificate-summary.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { createOutputOption, parseDays, parseOutputDirectory } from '../../client/option-parsers.ts';
import { prepareOutputDirectory, writeOutputFiles } from '../../client/output-directory.ts';
import { advise } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { formatNext, type ReportFormat, wrapText } from '../../client/output/text-format.ts';
import { findDnsNameProblem, findIpAddressProblem } from './names.ts';

/** Scripts rely on these file names. */
const CERTIFICATE_FILES = ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] as const;
/** The Service in manifests/base. The API server verifies the first name. */
const DEFAULT_DNS_NAMES = [
  'machineconfig-guard.machineconfig-guard.svc',
  'machineconfig-guard.machineconfig-guard.svc.cluster.local',
];
/** For people who renew by hand. */
const DEFAULT_DAYS = 365;

interface CertsFlags {
  readonly out: string;
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  readonly days: number;
  readonly caDays: number;
  readonly force?: boolean;
  readonly output: 'text' | 'json' | 'yaml';
}

interface CertificateSummary {
  readonly fingerprint256: string;
  readonly notBefore: string;
  readonly notAfter: string;
}

/** The JSON of `--output json`. Its keys are a contract. */
export interface CertsReport {
  readonly files: Readonly<Record<(typeof CERTIFICATE_FILES)[number], string>>;
  readonly authority: CertificateSummary;
  readonly leaf: CertificateSummary & {
    readonly dnsNames: readonly string[];
    readonly ipAddresses: readonly string[];
  };
}

export function createCertsCommand(): Command {
  const outDescription = `directory for ${CERTIFICATE_FILES.join(', ')}; created if missing`;
  const dnsDescription = 'DNS name of the webhook; repeatable (default: the Service of the manifests)';
  const ipDescription = 'IP address of the webhook; repeatable';
  const command = new Command('certs')
    .description('Create a certificate authority and a serving certificate for the webhook.')
    .option('--out <dir>', outDescription, parseOutputDirectory, 'certs')
    .option('--dns <name>', dnsDescription, createCollector(findDnsNameProblem))
    .option('--ip <address>', ipDescription, createCollector(findIpAddressProblem))
    .option('--days <n>', `days until the serving certificate expires, 1 to ${MAX_DAYS}`, parseDays, DEFAULT_DAYS)
    .option('--ca-days <n>', `days until the authority expires, 1 to ${MAX_DAYS}`, parseDays, MAX_DAYS)
    .option('--force', 'overwrite existing files, including the authority')
    .addOption(createOutputOption(['text', 'json', 'yaml']))
    .addHelpText(
      'after',
      `
Every run creates a new authority, also with --force. Replace the caBundle of
the webhook configuration together with the files. Private keys have mode 0600.
Permissions: none, it does not access a cluster.
Exit codes: 0 written, 2 wrong usage, unwritable directory or existing files.

Examples:
  machineconfig-guard certs --out certs/
  machineconfig-guard certs --dns guard.example.com --ip 192.0.2.10 --days 90`,
    )
    .action(async (flags: CertsFlags) => {
      const report = await makeCertificates(flags, new Date());
      const output = new Output(command, flags);
      output.printReport(report, formatReport(output.format, report));
    });
  return command;
}

async function makeCertificates({ out, days, caDays, force, dns, ip }: CertsFlags, now: Date): Promise<CertsReport> {
  if (days > caDays) {
    const message = `--days ${days} exceeds --ca-days ${caDays}: a certificate cannot outlive its authority`;
    throw new CliError(message, EXIT_CODE.usage);
  }
  const dnsNames = [...new Set(dns ?? DEFAULT_DNS_NAMES)];
  const ipAddresses = [...new Set(ip)];
  await prepareOutputDirectory(out, CERTIFICATE_FILES, force === true);
  const [{ createAuthority }, { issueLeaf }] = await Promise.all([
    import('../../certificates/authority.ts'),
    import('../../certificates/authority.ts'),
  ]);
  const authority = await createAuthority({ days: caDays, now });
  const leaf = await issueLeaf({ authority, dnsNames, ipAddresses, days, now });
  await writeOutputFiles(out, [
    { name: 'ca.crt', content: authority.certificatePem, isPrivate: false },
    { name: 'ca.key', content: authority.privateKeyPem, isPrivate: true },
    { name: 'tls.crt', content: leaf.certificatePem, isPrivate: false },
    { name: 'tls.key', content: leaf.privateKeyPem, isPrivate: true },
  ]);
  const files = Object.fromEntries(CERTIFICATE_FILES.map((name) => [name, path.join(out, name)]));
  return {
    files: files as CertsReport['files'],
    authority: summarizeValidity(authority.certificatePem),
    leaf: { ...summarizeValidity(leaf.certificatePem), dnsNames, ipAddresses },
  };
}

function summarizeValidity(certificatePem: string): CertificateSummary {
  const notBefore = new Date(new X509Certificate(certificatePem).validFrom).toISOString();
  return { ...summarizeCertificate(certificatePem), notBefore };
}

function formatReport(format: ReportFormat, { files, authority, leaf }: CertsReport): string {
  const names = joinWithAnd([...leaf.dnsNames, ...leaf.ipAddresses]);
  const sentences = [
    `Wrote ${joinWithAnd(Object.values(files))}. The private keys have mode 0600.`,
    `The authority is valid until ${authority.notAfter}, and the certificate for ${names} until ${leaf.notAfter}.`,
    `Set the caBundle of the webhook configuration to the base64 encoding of ${files['ca.crt']}.`,
  ];
  const serve = ['machineconfig-guard', 'serve'];
  const flags = ['--tls-cert-file', files['tls.crt'], '--tls-private-key-file', files['tls.key']];
  const next = formatNext(format, advise('start the guard', [...serve, ...flags]));
  return `${[...sentences.flatMap((sentence) => wrapText(sentence, format.width)), ...next].join('\n')}\n`;
}

function createCollector(findProblem: (value: string) => string | undefined) {
  return (value: string, previous: readonly string[] = []): string[] => {
    const problem = findProblem(value);
    if (problem !== undefined) throw new InvalidArgumentError(`It ${problem}.`);
    return [...previous, value.toLowerCase()];
  };
}
