import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import packageLock from '../package-lock.json' with { type: 'json' };
import type { Sbom } from './packages.ts';

/** As `npm audit --json` prints it. */
interface Report {
  /** Absent if the registry did not answer. */
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>;
}

interface Vulnerability {
  readonly severity: string;
  /** Advisories, and the names of dependencies that have some. */
  readonly via: readonly (string | { readonly title: string; readonly url: string })[];
  /** Paths in package-lock.json. */
  readonly nodes: readonly string[];
}

// npm exits with 1 if there are vulnerabilities, and also if the registry does not answer, which is neither a finding
// nor the absence of one.
const { stdout, stderr } = spawnSync('npm', ['audit', '--json', '--fetch-retries=0', '--fetch-timeout=20000'], {
  encoding: 'utf8',
});
const { vulnerabilities } = JSON.parse(stdout || '{}') as Report;
if (vulnerabilities === undefined) {
  console.log(`NOT CHECKED: the registry could not be asked about known vulnerabilities.\n${stdout}${stderr}`);
  process.exitCode = 3;
} else {
  const findings = findVulnerabilities(vulnerabilities, listBundledPackages());
  console.log(findings.length === 0 ? 'found 0 vulnerabilities in the program' : findings.join('\n'));
  process.exitCode = findings.length === 0 ? 0 : 1;
}

/** One line for each package of the program. All are devDependencies, so npm also reports those that only tests use. */
function findVulnerabilities(
  vulnerabilities: Readonly<Record<string, Vulnerability>>,
  bundled: ReadonlySet<string>,
): readonly string[] {
  const locked: Readonly<Record<string, { readonly version?: string }>> = packageLock.packages;
  return Object.entries(vulnerabilities).flatMap(([name, { severity, via, nodes }]) => {
    const ids = nodes.map((node) => `${name}@${locked[node]?.version ?? ''}`);
    const advisories = via.map((cause) => (typeof cause === 'string' ? `see ${cause}` : `${cause.title} ${cause.url}`));
    return ids.filter((id) => bundled.has(id)).map((id) => `${id}: ${severity}: ${advisories.join('; ')}`);
  });
}

/** The packages with code in the program that `npm run build` has built, such as `express@5.3.0`. */
function listBundledPackages(): ReadonlySet<string> {
  const sbom = readFileSync(new URL('../dist/sbom.cdx.json', import.meta.url), 'utf8');
  const { components } = JSON.parse(sbom) as Sbom;
  return new Set(
    components.map(({ group, name, version }) => `${group === undefined ? '' : `${group}/`}${name}@${version}`),
  );
}
