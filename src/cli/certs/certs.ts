import { X509Certificate } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import {
  CERTIFICATE_FILES,
  prepareCertificateDirectory,
  writeCertificateDirectory,
  type CertificateFile,
} from './certificate-directory.ts';
import { findDnsNameProblem, findIpAddressProblem } from '../../certificates/names.ts';
import { OutputDirectoryError } from '../../install/output-directory.ts';

import { MAX_DAYS, readValidity } from '../../certificates/validity.ts';
import { createRotateCommand } from './rotate.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { parseDays } from '../option-parsers.ts';

/** Where the API server finds the guard in a cluster: Service and namespace of manifests/base. The first is what it verifies. */
const DEFAULT_DNS_NAMES = [
  'machineconfig-guard.machineconfig-guard.svc',
  'machineconfig-guard.machineconfig-guard.svc.cluster.local',
];

/** A year: what a person who renews by hand can live with. */
const DEFAULT_DAYS = 365;

interface CertsOptions {
  readonly out: string;
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  readonly days: number;
  readonly caDays: number;
  readonly force?: boolean;
  readonly output: 'text' | 'json';
}

/** What `certs --output json` prints. Times are RFC 3339, fingerprints SHA-256 in hex with colons. */
interface CertsReport {
  readonly files: Readonly<Record<CertificateFile, string>>;
  readonly authority: CertificateSummary;
  readonly leaf: CertificateSummary & { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
}

interface CertificateSummary {
  readonly fingerprint256: string;
  readonly notBefore: string;
  readonly notAfter: string;
}

/**
 * `certs`: makes an authority and a serving certificate for a guard that is run by hand (`serve --tls-cert-file`), or for an
 * installation whose certificates somebody wants to make beforehand. Touches no cluster.
 */
export function createCertsCommand(clock: () => Date = () => new Date()): Command {
  const command = new Command('certs')
    .description('Make a certificate authority and a serving certificate for the webhook.')
    .option('--out <dir>', `directory for ${CERTIFICATE_FILES.join(', ')}; made if it is not there`, 'certs')
    .option(
      '--dns <name>',
      `name the API server calls; repeat for more (default: ${DEFAULT_DNS_NAMES.join(', ')})`,
      dnsName,
    )
    .option('--ip <address>', 'IPv4 or IPv6 address the API server calls; repeat for more', ipAddress)
    .option('--days <n>', `days until the serving certificate expires, 1 to ${MAX_DAYS}`, parseDays, DEFAULT_DAYS)
    .option('--ca-days <n>', `days until the authority expires, 1 to ${MAX_DAYS}`, parseDays, MAX_DAYS)
    .option('--force', 'replace existing files: all four, the authority included')
    .addOption(new Option('--output <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Private keys get mode 0600. Every run makes a new authority, with --force too, so the webhook's caBundle
has to be replaced along with the files. Existing files are never replaced without --force.

Examples:
  machineconfig-guard certs --out certs/
  machineconfig-guard certs --out certs/ --dns guard.example.com --ip 192.0.2.10 --days 90`,
    )
    .action(async (options: CertsOptions) => {
      const report = await makeCertificates(options, clock());
      const text = options.output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : asText(report);
      command.configureOutput().writeOut?.(text);
    });
  return command.addCommand(createRotateCommand(clock));
}

async function makeCertificates(options: CertsOptions, now: Date): Promise<CertsReport> {
  if (options.out === '') throw new CliError('--out needs the name of a directory.', EXIT_CODE.usage);
  if (options.days > options.caDays) {
    throw new CliError(
      `--days ${options.days} is more than --ca-days ${options.caDays}: a certificate cannot outlive its authority.`,
      EXIT_CODE.usage,
    );
  }
  const dnsNames = [...new Set(options.dns ?? DEFAULT_DNS_NAMES)];
  const ipAddresses = [...new Set(options.ip)];
  try {
    await prepareCertificateDirectory(options.out, options.force === true);
    // node-forge takes 46 ms and 12 MB that no other command should pay for.
    const [{ createAuthority }, { issueLeaf }] = await Promise.all([
      import('../../certificates/authority.ts'),
      import('../../certificates/leaf.ts'),
    ]);
    const authority = await createAuthority({ days: options.caDays, now });
    const leaf = await issueLeaf({ authority, dnsNames, ipAddresses, days: options.days, now });
    const files = await writeCertificateDirectory(options.out, authority, leaf);
    return {
      files,
      authority: summaryOf(authority.certificatePem),
      leaf: { ...summaryOf(leaf.certificatePem), dnsNames, ipAddresses },
    };
  } catch (error) {
    if (error instanceof OutputDirectoryError) throw new CliError(error.message, EXIT_CODE.usage, { cause: error });
    throw error;
  }
}

function summaryOf(certificatePem: string): CertificateSummary {
  const certificate = new X509Certificate(certificatePem);
  const { notBefore, notAfter } = readValidity(certificate);
  return {
    fingerprint256: certificate.fingerprint256,
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
  };
}

function asText({ files, authority, leaf }: CertsReport): string {
  const names = [...leaf.dnsNames, ...leaf.ipAddresses].join(', ');
  return [
    'Authority',
    ...lines(files['ca.crt'], files['ca.key'], authority),
    '',
    'Serving certificate',
    ...lines(files['tls.crt'], files['tls.key'], leaf),
    `  serves       ${names}`,
    '',
    'Next: start the guard with',
    `  machineconfig-guard serve --tls-cert-file ${files['tls.crt']} --tls-private-key-file ${files['tls.key']}`,
    `and put ${files['ca.crt']}, base64-encoded, into the caBundle of the webhook configuration.`,
    '',
  ].join('\n');
}

function lines(certificate: string, key: string, summary: CertificateSummary): string[] {
  return [
    `  certificate  ${certificate}`,
    `  private key  ${key} (mode 0600)`,
    `  valid        ${summary.notBefore} to ${summary.notAfter}`,
    `  SHA-256      ${summary.fingerprint256}`,
  ];
}

function dnsName(value: string, previous: readonly string[] = []): string[] {
  const why = findDnsNameProblem(value);
  if (why !== undefined) throw new InvalidArgumentError(`It ${why}.`);
  return [...previous, value.toLowerCase()];
}

function ipAddress(value: string, previous: readonly string[] = []): string[] {
  const why = findIpAddressProblem(value);
  if (why !== undefined) throw new InvalidArgumentError(`It ${why}.`);
  return [...previous, value.toLowerCase()];
}
