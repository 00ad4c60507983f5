import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { unique } from '../support/cluster.ts';
import { renderedName } from '../support/objects.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { openShell } from '../support/shell.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;
const shell = await openShell(installed.controlPlane);
const [, JOB = ''] = /```sh\n(set -e\n[^`]*)```/.exec(readFileSync('docs/operate.md', 'utf8')) ?? [];

/** Runs the job in a shell of its own, which also lists these names, as if they were unused a moment ago. */
async function runJob(...alsoListed: readonly string[]) {
  const list = `printf '%s\\n' ${alsoListed.join(' ')}`;
  const race = `machineconfig-guard() { command machineconfig-guard "$@" && case "$*" in *name) ${list} ;; esac; }`;
  return shell.run(`bash <<'END'\n${race}\n${JOB}END`);
}

test('docs/operate.md prunes what is unused, prints what is held or denied, and fails for other errors', async () => {
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '2h' });
  try {
    const pool = unique('infra');
    const held = await cluster.config({ name: renderedName(pool) });
    const used = await cluster.config();
    await cluster.node({ currentConfig: used });
    await cluster.pool({ name: pool, spec: used });
    const unused = await cluster.config({ name: renderedName('no-such-pool') });

    const plain = await runJob();
    expect(plain).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(held) });
    expect(await cluster.exists(unused)).toBe(false);

    const { exitCode, stdout } = await runJob(held, used, unused);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`MCG_HELD: ${held} is held until .*\\n(.*\\n)*.*MCG_IN_USE: ${used}`));
    expect([await cluster.exists(held), await cluster.exists(used)]).toEqual([true, true]);

    const failed = await runJob('a%b');
    expect(failed).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('a%b') });
  } finally {
    await installed.setSettings({ mode: 'Enforce', holdSuperseded: '0s' });
  }
});
