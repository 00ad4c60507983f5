/** The exit code is 0 without vulnerabilities, 1 with vulnerabilities, and 3 if the registry did not answer. */
export interface AuditResult {
  readonly exitCode: 0 | 1 | 3;
  readonly lines: readonly string[];
}

interface AuditReport {
  readonly message?: string;
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>;
}

interface Vulnerability {
  readonly severity: string;
  /** Advisories, or the names of vulnerable dependencies. */
  readonly via: readonly (string | { readonly title: string; readonly url: string })[];
}

/**
 * Parses the output of `npm audit --json` (npm 9 and later). If the registry does not answer, npm prints an error in
 * the same format. That is neither a finding nor the absence of one.
 */
export function parseAuditOutput(output: string): AuditResult {
  const { vulnerabilities, message = 'npm printed no report' } = parseReport(output);
  if (vulnerabilities === undefined) {
    const line = `NOT CHECKED: the registry could not be asked about known vulnerabilities (${message}).`;
    return { exitCode: 3, lines: [line] };
  }
  const lines = Object.entries(vulnerabilities).map(([name, { severity, via }]) => {
    const causes = via.map((cause) => (typeof cause === 'string' ? `by ${cause}` : `${cause.title} ${cause.url}`));
    return `${name}: ${[severity, ...causes].join('; ')}`;
  });
  if (lines.length > 0) return { exitCode: 1, lines };
  return { exitCode: 0, lines: ['No known vulnerability in what a release contains.'] };
}

function parseReport(output: string): AuditReport {
  try {
    return JSON.parse(output) as AuditReport;
  } catch {
    return {};
  }
}
