import { stripVTControlCharacters } from 'node:util';
import { expect, test, vi } from 'vitest';
import { runCommand } from '../../src/cli/program.ts';
import { createDemoCommand } from '../../src/demo/demo-command.ts';

test('replays the deadlocks, and how the guard and restore end them', async () => {
  vi.stubEnv('FORCE_COLOR', '1');
  let output = '';
  const io = { stdout: (text: string) => void (output += text), stderr: () => {}, env: {} };

  expect(await runCommand(createDemoCommand(), [], io)).toBe(0);

  expect(output).toContain('\u001B[31mdaemon    control2 is Degraded: ');
  const stdout = stripVTControlCharacters(output);
  const [intro = '', unguarded, guarded, missing] = stdout.split(/^(?=1a\. |1b\. |2\. )/m);
  expect(intro).toContain('on a cluster in memory');
  expect(unguarded).toMatch(/clean-up +deletes rendered-master-\w{8}, although control2 runs it\n/);
  expect(unguarded).toMatch(/install +stuck: 2 of 3 masters updated, 1 Degraded\n$/m);
  expect(guarded).toMatch(
    /clean-up +tries to delete .*: denied\n\n +Error from server \(Forbidden\): admission webhook /,
  );
  expect(guarded).toContain('denied the request: MCG_IN_USE:');
  expect(guarded).toMatch(/clean-up +deletes .*, which no node uses any more\ninstall +complete: all 3 masters run /);
  expect(missing).toMatch(/stuck: 0 of 2 masters updated, 2 Degraded\n\n +\$ machineconfig-guard check\n/);
  expect(missing).toMatch(
    /restore --from node\/control1 --confirm\n\n[^]*restore +created [^]*complete: all 3 masters/,
  );
  expect(missing).toContain('Without the guard, the first install never completes.');

  // A link is not broken. Tables and commands of check are not wrapped.
  const lines = stdout.split('\n');
  expect(lines.filter((line) => line.length > 120 && !/^ {2}[ │] /.test(line))).toEqual([]);
});
