import { expect, test } from 'vitest';
import { redact } from '../../../src/cli/gather/redact.ts';

const JWT = 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJndWFyZCJ9.c2lnbmF0dXJlLW9m_LQ-0';
const KEY = '-----BEGIN PRIVATE KEY-----\n    MIIE+/9x=\n    abcd\n    -----END PRIVATE KEY-----';

test.each([
  [`token: ${JWT}`, 'token: <redacted>'],
  [`"Authorization":"Bearer ${JWT}","x":1`, '"Authorization":"Bearer <redacted>","x":1'],
  ['--token=sha256~Ab_c-d0123456789Ab_c-d0123456789Ab_c-d01', '--token=<redacted>'],
  [`  key: |\n    ${KEY}\n  next: 1`, '  key: |\n    <redacted>\n  next: 1'],
  [`tls.key: ${Buffer.from(KEY).toString('base64')}\n`, 'tls.key: <redacted>\n'],
  ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: Basic <redacted>'],
  ['"authorization":"basic dXNlcjpwYXNz"', '"authorization":"basic <redacted>"'],
  ['HTTPS_PROXY=http://user:p%40ss@proxy:3128', 'HTTPS_PROXY=http://<redacted>@proxy:3128'],
  ['HTTPS_PROXY=http://user:p@ss@proxy:3128', 'HTTPS_PROXY=http://<redacted>@proxy:3128'],
  ['url: https://0123456789abcdef@example.com/', 'url: https://<redacted>@example.com/'],
])('redacts %j', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  'caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUQ=',
  'image: registry.example.com/guard@sha256:0123456789abcdef0123456789abcdef',
  'https://127.0.0.1:6443/apis/user@example.com',
  '{"url":"https://127.0.0.1:6443","user":"alice@example.com"}',
  'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90',
])('keeps %j', (text) => {
  expect(redact(text)).toBe(text);
});
