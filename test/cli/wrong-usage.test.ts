import { expect, test } from 'vitest';
import { NEW, OLD, startHealthyCluster } from './inspected-cluster.ts';
import { runProgram, usageError } from './run-program.ts';

test.each<[command: string, args: readonly string[], sentence: string | RegExp]>([
  ['serve', [], /: serve needs --tls-secret, or .* create the files with: machineconfig-guard certs/],
  ['serve', ['--tls-cert-file', 'x', '--tls-secret', 'a/b'], "cannot be used with option '--tls-cert-file <file>'"],
  ['serve', ['--tls-private-key-file', 'x', '--tls-secret', 'a/b'], "with option '--tls-private-key-file <file>'"],
  ...['../b', 'a', 'a/b/c', '../../a/b', 'a.b/c', `${'a'.repeat(64)}/b`, `a/${'b'.repeat(254)}`].map(
    (name): [string, string[], string] => ['serve', ['--tls-secret', name], 'NAMESPACE/NAME'],
  ),
  ['serve', ['--shutdown-delay-duration', 'soon'], 'Must be a duration, such as 5s, 500ms or 1m30s.\n'],
  ['serve', ['--bind-address', 'localhost'], 'Must be an IPv4 or IPv6 address.\n'],
  ...['A', 'a.b', 'a'.repeat(64)].map((name): [string, string[], string] => [
    'serve',
    ['--namespace', name],
    'Must be a namespace, such as machineconfig-guard.\n',
  ]),
  ['status', ['--contexts', ','], 'Must be all, or names separated by commas.\n'],
  ['status', ['--contexts', 'all', '--context', 'a'], "cannot be used with option '--context <name>'\n"],
  ...['--kubeconfig', '--context', '--as'].map((flag): [string, string[], string] => [
    'check',
    [flag, ''],
    "argument '' is invalid. Must not be empty.\n",
  ]),
  ['verify', ['x'], /: too many arguments for 'verify'\. Expected 0 arguments but got 1; see --help\n$/],
  ['render', ['--frobnicate'], /: unknown option '--frobnicate'; see --help\n$/],
  ['render', [], /: --out is needed: a directory, or - for one YAML stream\n$/],
  [
    'check',
    ['manifest', 'x'],
    'it has manifests and bootstrap, and flags such as --role ROLE and --selector kubernetes.io/hostname=NAME\n',
  ],
  ['who-uses', ['--request-timeout', '5x'], 'Must be a duration'],
  ['who-uses', ['-n', 'a'], "unknown option '-n'"],
  [
    'restore',
    ['--dry-run=server'],
    "'--dry-run=server'; restore and uninstall write only with --confirm; see --help\n",
  ],
  ['restore', ['--yes'], "unknown option '--yes'; restore and uninstall write only with --confirm; see --help\n"],
  ['check', ['--token', 'a'], "unknown option '--token'; use a kubeconfig; see --help\n"],
  [
    'check',
    ['--node', 'a'],
    'use check --selector kubernetes.io/hostname=NAME or restore --from node/NAME; see --help\n',
  ],
  ['check', ['--no-wait'], "unknown option '--no-wait'; see --help\n"],
  ['check', ['--wait=false'], "unknown option '--wait=false'; see --help\n"],
  ['render', ['--namespace', 'a'], "unknown option '--namespace'; the namespace of the guard is fixed; see --help\n"],
  ['render', ['--Image', 'a'], "unknown option '--Image' (Did you mean --image?)\n"],
  ['status', ['a'], "too many arguments for 'status'. Expected 0 arguments but got 1; use --contexts; see --help\n"],
  ['check', ['--role', 'master', '--role', 'worker'], "argument 'worker' is invalid. Must be given once.\n"],
  ['check', ['-l', 'a', '-l', 'b'], "argument 'b' is invalid. Must be given once.\n"],
  ['who-uses', ['--unused', NEW], '--unused takes no names; drop --unused, or drop the names\n'],
  ['who-uses', [''], 'config name must not be empty\n'],
  ['who-uses', ['node/a'], '"node/a" is not a MachineConfig; for a copy on a node, use restore --from\n'],
  ['who-uses', ['worker-'], `"worker-" begins several names: ${OLD} and ${NEW}; add more characters\n`],
])('%s with %j exits with 2', async (command, args, sentence) => {
  const { run } = await startHealthyCluster();
  expect(await run(command, ...args)).toEqual(usageError(sentence));
});

test.each([
  [['verify', '--as'], "option '--as <user>' argument missing"],
  [['check', 'manifests'], "missing required argument 'source'"],
])('%j leads to the help', async (args, error) => {
  expect(await runProgram(args)).toEqual(usageError(`${error}; see --help\n`));
});

test.each([
  ['check --role master manifests x', '--role is a flag of check, not of manifests'],
  ['check --wait=true bootstrap x', '--wait is a flag of check, not of bootstrap'],
  ['check manifests x --authfile y', '--authfile needs --operator or --release-image'],
])('rejects a flag that has no effect: %s', async (line, error) => {
  expect(await runProgram(line.split(' '))).toEqual(usageError(`${error}\n`));
});
