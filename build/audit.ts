import { spawnSync } from 'node:child_process';
import { readAudit } from './audit-answer.ts';

// Ends with 1 where something is found, and prints its report all the same.
const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json', '--fetch-retries=0', '--fetch-timeout=20000'], {
  encoding: 'utf8',
});
const { exitCode, lines } = readAudit(stdout);
for (const line of lines) console.log(line);
process.exitCode = exitCode;
