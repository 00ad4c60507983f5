import path from 'node:path';
import { Command } from 'commander';
import { joinWithAnd } from '../../common/printable-text.ts';
import { shell, verbatim } from '../../diagnosis/shell-command.ts';
import { collect, createParser } from '../../client/option-parsers.ts';
import { prepareOutputDirectory, writeOutputFiles } from '../../client/output-directory.ts';
import { advise } from '../../client/output/advice.ts';
import { Output } from '../../client/output/output.ts';
import { formatNext, wrapText } from '../../client/output/text-format.ts';
import { isObjectName } from '../../kube/api-object.ts';

/** Scripts rely on these file names. */
const CERTIFICATE_FILES = ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] as const;
/** The Service in manifests/base. The API server verifies the first name. */
const DEFAULT_DNS_NAMES = [
  'machineconfig-guard.machineconfig-guard.svc',
  'machineconfig-guard.machineconfig-guard.svc.cluster.local',
];
/** Of the serving certificate. */
const DAYS = 365;

interface CertsFlags {
  readonly out: string;
  readonly dns?: readonly string[];
  readonly force?: boolean;
}

const parseDirectory = createParser(/^(?!-$)./, 'Must be a directory.');

/** Resolvers can read a name that ends in a number as an address. */
const parseDns = createParser(
  { test: (value) => isObjectName(value.toLowerCase()) && !/(?:^|\.)(?:\d+|0x[0-9a-f]*)$/i.test(value) },
  'Must be a DNS name without a wildcard, such as guard.example.com.',
);

export function createCertsCommand(): Command {
  const command = new Command('certs')
    .description('Create a certificate authority and a serving certificate for the webhook.')
    .option('--out <dir>', `directory for ${CERTIFICATE_FILES.join(', ')}; created if missing`, parseDirectory, 'certs')
    .option(
      '--dns <name>',
      'DNS name of the webhook; repeatable (default: the Service of the manifests)',
      collect(parseDns),
    )
    .option('--force', 'overwrite existing files, including the authority')
    .addHelpText(
      'after',
      `
Every run creates a new authority, also with --force. Replace the caBundle of
the webhook configuration together with the files. Private keys have mode 0600.
The serving certificate is valid for a year, and the authority for ten.
Permissions: none, it does not access a cluster.
Exit codes: 0 written, 2 wrong usage, unwritable directory or existing files.

Examples:
  machineconfig-guard certs --out certs/
  machineconfig-guard certs --dns guard.example.com`,
    )
    .action(async (flags: CertsFlags) => {
      await makeCertificates(flags, new Date());
      const paths = CERTIFICATE_FILES.map((name) => path.join(flags.out, name));
      const [caFile, , certFile = '', keyFile = ''] = paths;
      const output = new Output(command, {});
      const { width } = output.format;
      const files = shell`--tls-cert-file ${verbatim(certFile)} --tls-private-key-file ${verbatim(keyFile)}`;
      const serve = shell`machineconfig-guard serve ${files}`;
      const lines = [
        ...wrapText(`Wrote ${joinWithAnd(paths)}. The private keys have mode 0600.`, width),
        ...wrapText(`Set the caBundle of the webhook configuration to the base64 encoding of ${caFile}.`, width),
        ...formatNext(output.format, advise('start the guard', serve)),
      ];
      output.print(`${lines.join('\n')}\n`);
    });
  return command;
}

async function makeCertificates({ out, force, dns }: CertsFlags, now: Date): Promise<void> {
  await prepareOutputDirectory(out, CERTIFICATE_FILES, force === true);
  const { AUTHORITY_DAYS, createAuthority, issueLeaf } = await import('../../certificates/authority.ts');
  const authority = await createAuthority({ days: AUTHORITY_DAYS, now });
  const dnsNames = [...new Set((dns ?? DEFAULT_DNS_NAMES).map((name) => name.toLowerCase()))];
  const leaf = await issueLeaf({ authority, dnsNames, ipAddresses: [], days: DAYS, now });
  const contents = [authority.certificatePem, authority.privateKeyPem, leaf.certificatePem, leaf.privateKeyPem];
  const files = CERTIFICATE_FILES.map((name, index) => {
    return { name, content: contents[index] ?? '', isPrivate: name.endsWith('.key') };
  });
  await writeOutputFiles(out, files);
}
