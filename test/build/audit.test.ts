import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

/** A vulnerability in the words of `npm audit --json` (npm 10). */
const vulnerability = (name: string) => ({
  [name]: {
    name,
    severity: 'high',
    via: [{ title: 'A flaw', url: 'https://github.com/advisories/GHSA-1' }, 'other'],
    nodes: [`node_modules/${name}`],
  },
});
const UNREACHABLE = { message: 'request to https://registry.npmjs.org/ failed', error: { code: 'ENOTFOUND' } };

test.each([
  ['no vulnerability', { vulnerabilities: {} }, 0, 'found 0 vulnerabilities in the program'],
  ['one in a package that only tests use', { vulnerabilities: vulnerability('vitest') }, 0, 'found 0 vulnerabilities'],
  [
    'one in a package of the program',
    { vulnerabilities: { ...vulnerability('vitest'), ...vulnerability('node-forge') } },
    1,
    /^node-forge@[\d.]+: high: A flaw https:\/\/github\.com\/advisories\/GHSA-1; see other\n$/,
  ],
  ['no answer of the registry', UNREACHABLE, 3, 'NOT CHECKED: the registry could not be asked'],
  ['nothing', undefined, 3, 'NOT CHECKED: the registry could not be asked'],
])('npm reports %s: %j', (_title, report, exitCode, output) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'mcg-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const npm = path.join(folder, 'npm');
  const text = report === undefined ? '' : JSON.stringify(report);
  writeFileSync(npm, `#!/bin/sh\nprintf '%s' '${text}'\nexit 1\n`);
  chmodSync(npm, 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };

  const result = spawnSync(process.execPath, ['--import', 'tsx', 'build/audit.ts'], { env, encoding: 'utf8' });

  expect(result).toMatchObject({ status: exitCode, stderr: '' });
  expect(result.stdout).toMatch(output);
});
