import { expect, test } from 'vitest';
import { CertificateFilesError } from '../../../src/certificates/certificate-files.ts';
import { createServeCommand, toServeError } from '../../../src/cli/serve/serve.ts';
import type { CliError } from '../../../src/client/exit.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { ListenError } from '../../../src/serving/tls-server.ts';

test.each([
  [
    'a port',
    new ListenError('cannot listen on port 1', { cause: new Error('EACCES') }),
    'cannot listen on port 1; choose another port, or stop the program that uses it',
  ],
  [
    'a certificate file',
    new CertificateFilesError('k does not exist.'),
    'k does not exist; create the files with: machineconfig-guard certs',
  ],
])('an error of %s is wrong usage, with its cause and a way out', (_what, error, text) => {
  const shown = toServeError(error) as CliError;
  expect(shown).toMatchObject({ exitCode: 2, cause: error });
  expect(shown.describe(new CommandFormatter('machineconfig-guard', {}))).toBe(text);
});

test('has the ports of the manifests, and serves for 5 s after SIGTERM', () => {
  expect(createServeCommand().opts()).toEqual({
    securePort: 9443,
    healthPort: 8081,
    metricsPort: 8443,
    shutdownDelayDuration: 5_000,
    logLevel: 'info',
  });
});

test.each(['ERR_INVALID_ARG_TYPE', 'ERR_OSSL_EC_CURVE'])(
  'an unexpected error with the code %s stays as it is',
  (code) => {
    const error = Object.assign(new TypeError('x'), { code });
    expect(toServeError(error)).toBe(error);
  },
);
