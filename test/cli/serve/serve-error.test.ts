import { expect, test } from 'vitest';
import { CertificateFilesError } from '../../../src/certificates/certificate-files.ts';
import { toServeError } from '../../../src/cli/serve/serve.ts';
import { ListenError } from '../../../src/serving/tls-server.ts';

test.each([
  ['a port', new ListenError('cannot listen on port 1', { cause: new Error('EACCES') }), 'cannot listen on port 1'],
  ['a certificate file', new CertificateFilesError('k does not exist.'), 'k does not exist.'],
])('an error of %s is wrong usage, with its cause', (_what, error, message) => {
  expect(toServeError(error)).toMatchObject({ message, exitCode: 2, cause: error });
});

test.each(['ERR_INVALID_ARG_TYPE', 'ERR_OSSL_EC_CURVE'])(
  'an unexpected error with the code %s stays as it is',
  (code) => {
    const error = Object.assign(new TypeError('x'), { code });
    expect(toServeError(error)).toBe(error);
  },
);
