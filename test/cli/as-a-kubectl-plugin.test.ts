import { expect, test } from 'vitest';
import { type Terminal, programNameOf, runProgram } from '../../src/cli/program.ts';
import packageJson from '../../package.json' with { type: 'json' };

test.each([
  ['/usr/local/bin/kubectl-mcguard', 'kubectl mcguard'],
  ['/usr/local/bin/oc-mcguard', 'oc mcguard'],
  ['/opt/machineconfig-guard.cjs', 'machineconfig-guard'],
  ['/repository/src/cli/main.ts', 'machineconfig-guard'],
  ['/kubectl-mcguard/main.ts', 'machineconfig-guard'],
  ['', 'machineconfig-guard'],
])('%s is called %s', (file, name) => {
  expect(programNameOf(file)).toBe(name);
});

/** What such a command line writes. */
async function plugin(...args: string[]): Promise<string> {
  let text = '';
  const write = (more: string): void => void (text += more);
  const terminal: Terminal = { stdout: write, stderr: write, env: {} };
  await runProgram(args, terminal, 'kubectl mcguard');
  return text;
}

test.each([['check'], ['who-uses'], ['certs'], ['serve']])('%s --help says what to type', async (command) => {
  const help = await plugin(command, '--help');
  expect(help).toMatch(new RegExp(`^Usage: kubectl mcguard ${command} `));
  expect(help).toMatch(new RegExp(`^Examples?:\n {2}kubectl mcguard ${command}`, 'm'));
  expect(help).not.toMatch(/^\s*machineconfig-guard /m);
});

test('and so do its errors', async () => {
  expect(await plugin('chek')).toBe("kubectl mcguard: unknown command 'chek' (Did you mean check?)\n");
  expect(await plugin('who-uses')).toMatch(/^kubectl mcguard: name a config/);
});

test('the package installs both names of the one program', () => {
  const { 'machineconfig-guard': program, 'kubectl-mcguard': asPlugin } = packageJson.bin;
  expect(asPlugin).toBe(program);
});
