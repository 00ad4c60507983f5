import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { runDemo } from './run-demo.ts';

test('replays a deadlock, and how restore ends it and the guard prevents it', async () => {
  let output = '';
  expect(await runDemo({ width: 120, hasColors: true }, (text) => void (output += text))).toBe(true);
  expect(output).toContain('\u001B[31mdaemon    control2 is Degraded: ');
  const stdout = stripVTControlCharacters(output);
  const [, unguarded, guarded] = stdout.split(/^(?=[12]\. )/m);
  expect(unguarded).toMatch(
    /clean-up +deletes rendered-master-\w{8}, although a node runs it\n[^]*stuck: 2 of 3 masters updated, 1 Degraded\n/,
  );
  expect(unguarded).toMatch(/\$ machineconfig-guard check\n[^]*restore +create rendered-master-[^]*complete: all 3/);
  expect(guarded).toMatch(/tries to delete .*: denied\n\n +Error from server \(Forbidden\): [^]* MCG_IN_USE:/);
  expect(guarded).toMatch(/clean-up +deletes .*, which no node uses any more\ninstall +complete: all 3 masters run /);
  // A link is not broken. Tables and commands of check are not wrapped.
  expect(stdout.split('\n').filter((line) => line.length > 120 && !/^ {4}/.test(line))).toEqual([]);
});
