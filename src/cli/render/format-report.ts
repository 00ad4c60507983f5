import path from 'node:path';
import type { Installation, InstallationOptions } from '../../install/installation.ts';
import type { summarizeCertificate } from '../../client/certificate-summary.ts';
import { advise } from '../../client/output/advice.ts';
import { formatCommand, type ReportFormat } from '../../client/output/text-format.ts';

/** The JSON of `--output json`. Its keys are a contract. */
export interface RenderReport extends Pick<Installation, 'failurePolicy' | 'warnings'> {
  readonly directory: string;
  readonly files: readonly {
    readonly file: string;
    readonly kind: string;
    readonly name: string;
    readonly secret: boolean;
  }[];
  readonly removed: readonly string[];
  readonly bytes: number;
  readonly gzipBytes: number;
  readonly image: string;
  readonly profile: InstallationOptions['profile'];
  readonly tls: 'generated' | 'service-ca';
  readonly authority: ReturnType<typeof summarizeCertificate> | null;
  readonly leftOut: readonly string[];
}

export function formatRenderReport(format: ReportFormat, report: RenderReport): string {
  const { directory, files, removed, bytes, gzipBytes, authority, leftOut } = report;
  const width = Math.max(...files.map(({ file }) => file.length));
  const isInstallerDirectory = path.basename(path.resolve(directory)) === 'openshift';
  const createImage = ['openshift-install', 'agent', 'create', 'image'];
  const install = isInstallerDirectory
    ? advise('for a new cluster, in the parent directory of openshift/', createImage)
    : advise('for a new cluster, copy the files into openshift/ of the installer, then create the image');
  const apply = advise('for a running cluster', ['oc', 'apply', '-f', directory]);
  const verify = advise('then verify that the guard denies a deletion', ['machineconfig-guard', 'verify', '--wait']);
  return [
    `Wrote ${files.length} files to ${directory}: ${formatSize(bytes)}, ${formatSize(gzipBytes)} gzipped`,
    ...files.map(({ file, kind, name, secret: isPrivate }) => {
      return `  ${file.padEnd(width)}  ${kind} ${name}${isPrivate ? ' (private key, mode 0600)' : ''}`;
    }),
    ...removed.map((file) => `  removed ${file}, a file of an earlier run`),
    ...(authority === null
      ? []
      : ['', `The authority expires on ${authority.notAfter}; SHA-256 ${authority.fingerprint256}`]),
    ...leftOut.map((object) => `Omitted ${object}.`),
    '',
    'Next:',
    ...formatCommand(format, install),
    ...[apply, verify].flatMap((step) => formatCommand(format, step, isInstallerDirectory)),
    '',
  ].join('\n');
}

function formatSize(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}
