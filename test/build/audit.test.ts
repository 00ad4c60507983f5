import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

// As npm 10 prints it.
test.each([
  [0, 'found 0 vulnerabilities', 0],
  [1, 'node-forge  <1.4.0\nSeverity: high\n\n1 high severity vulnerability', 1],
  [1, '', 3],
])('npm exits with %i after %j: the audit exits with %i', (npmExitCode, output, exitCode) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'mcg-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const npm = path.join(folder, 'npm');
  writeFileSync(npm, `#!/bin/sh\nprintf '%s' '${output}'\nexit ${npmExitCode}\n`);
  chmodSync(npm, 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };

  const result = spawnSync(process.execPath, ['--import', 'tsx', 'build/audit.ts'], { env, encoding: 'utf8' });

  expect(result.status).toBe(exitCode);
  expect(result.stdout).toContain(exitCode === 3 ? 'NOT CHECKED' : output);
});
