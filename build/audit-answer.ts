/** What `npm audit` found out, and the exit code that says so: 0 nothing known, 1 something, 3 the registry did not say. */
export interface AuditAnswer {
  readonly exitCode: 0 | 1 | 3;
  readonly lines: readonly string[];
}

interface Vulnerability {
  readonly severity: string;
  /** Advisories, or the names of packages by which it comes in. */
  readonly via: readonly (string | { readonly title: string; readonly url: string })[];
}

interface AuditReport {
  readonly message?: string;
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>;
}

/**
 * Reads what `npm audit --json` (npm 9 and later) printed. A registry that cannot be asked makes npm print an error in the same
 * form; that is neither "nothing known" nor a finding, and must not look like either.
 */
export function readAudit(output: string): AuditAnswer {
  const report = parsed(output);
  if (report?.vulnerabilities === undefined) {
    const why = report?.message ?? 'npm printed no report';
    return {
      exitCode: 3,
      lines: [`NOT CHECKED: the registry could not be asked about known vulnerabilities (${why}).`],
    };
  }
  const found = Object.entries(report.vulnerabilities);
  if (found.length === 0) return { exitCode: 0, lines: ['No known vulnerability in what a release contains.'] };
  return { exitCode: 1, lines: found.map(([name, vulnerability]) => `${name}: ${described(vulnerability)}`) };
}

function described({ severity, via }: Vulnerability): string {
  const causes = via.map((cause) => (typeof cause === 'string' ? `by ${cause}` : `${cause.title} ${cause.url}`));
  return `${severity}; ${causes.join('; ')}`;
}

function parsed(output: string): AuditReport | undefined {
  try {
    return JSON.parse(output) as AuditReport;
  } catch {
    return undefined;
  }
}
