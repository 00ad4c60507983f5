import { expect, test } from 'vitest';
import { runProgram } from './run-program.ts';

test.each<[string, string[], RegExp]>([
  [
    'nothing to serve with',
    [],
    /^machineconfig-guard: serve needs --tls-cert-file and --tls-private-key-file .* or --tls-secret\.$/,
  ],
  ['a certificate without its key', ['--tls-cert-file', 'x'], /serve needs --tls-cert-file and --tls-private-key-file/],
  [
    'files and a Secret',
    ['--tls-cert-file', 'x', '--tls-secret', 'a/b'],
    /use either --tls-secret or the two file flags, not both\.$/,
  ],
  ['a Secret without a namespace', ['--tls-secret', 'ca'], /NAMESPACE\/NAME/],
  ['a hostile Secret name', ['--tls-secret', '../../a/b'], /NAMESPACE\/NAME/],
  ['a port that is none', ['--secure-port', '70000'], /A port is a number from 0 to 65535\.$/],
  ['a port in words', ['--metrics-port', 'https'], /A port is a number from 0 to 65535\.$/],
  ['a duration that is none', ['--shutdown-delay-duration', 'soon'], /A duration looks like 5s, 500ms or 1m30s\.$/],
  ['an address that is none', ['--bind-address', 'localhost'], /It must be an IPv4 or IPv6 address\.$/],
  ['an old TLS version', ['--tls-min-version', 'VersionTLS10'], /VersionTLS12, VersionTLS13/],
  ['an unknown flag', ['--tls-cert'], /unknown option '--tls-cert'/],
  ['an argument', ['now'], /too many arguments/],
])('%s: exit code 2 and one sentence', async (_title, args, sentence) => {
  const { exitCode, stderr, stdout } = await runProgram(['serve', ...args]);
  expect(exitCode).toBe(2);
  expect(stdout).toBe('');
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr.trim()).toMatch(sentence);
});
