import path from 'node:path';
import type { Installation, InstallationOptions } from '../../install/installation.ts';
import type { summarizeCertificate } from '../../client/certificate-summary.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
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
  /** Number of files in the directory that no run of this profile wrote. */
  readonly otherFiles: number;
  readonly bytes: number;
  readonly gzipBytes: number;
  /** Null without a guard, like tls and failurePolicy. */
  readonly image: string | null;
  readonly profile: InstallationOptions['profile'];
  readonly tls: 'generated' | 'service-ca' | null;
  readonly authority: ReturnType<typeof summarizeCertificate> | null;
  readonly leftOut: readonly string[];
}

export function formatRenderReport(format: ReportFormat, report: RenderReport): string {
  const { directory, files, removed, bytes, gzipBytes, authority, leftOut } = report;
  const width = Math.max(...files.map(({ file }) => file.length));
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
    ...adviseSteps(report).flatMap((step, index) => formatCommand(format, step, index > 0 && isForInstaller(report))),
    '',
  ].join('\n');
}

function adviseSteps(report: RenderReport): Advice[] {
  const { directory, otherFiles, image } = report;
  const createImage = ['openshift-install', 'agent', 'create', 'image'];
  const install = isForInstaller(report)
    ? advise('for a new cluster, in the parent directory of openshift/', createImage)
    : advise('for a new cluster, copy the files into openshift/ of the installer, then create the image');
  const apply =
    otherFiles > 0
      ? advise('for a running cluster, render into an empty directory, because this one has other files')
      : advise('for a running cluster', ['oc', 'apply', '-f', directory]);
  const verify = advise('then verify that the guard denies a deletion', ['machineconfig-guard', 'verify', '--wait']);
  return [install, apply, ...(image === null ? [] : [verify])];
}

function isForInstaller({ directory }: RenderReport): boolean {
  return path.basename(path.resolve(directory)) === 'openshift';
}

function formatSize(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}
