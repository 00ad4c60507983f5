import { spawnSync } from 'node:child_process';
import { parseAuditOutput } from './audit-result.ts';

// npm exits with 1 if there are vulnerabilities, and prints its report all the same.
const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json', '--fetch-retries=0', '--fetch-timeout=20000'], {
  encoding: 'utf8',
});
const { exitCode, lines } = parseAuditOutput(stdout);
for (const line of lines) console.log(line);
process.exitCode = exitCode;
