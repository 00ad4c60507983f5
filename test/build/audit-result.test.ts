import { expect, test } from 'vitest';
import { parseAuditOutput } from '../../build/audit-result.ts';

test.each([
  ['{"message":"405 Method Not Allowed - POST https://registry/","statusCode":405}', '405 Method'],
  ['{"error":{"code":"ENOTFOUND"},"message":"request failed, reason: ENOTFOUND"}', 'ENOTFOUND'],
  ['', 'npm printed no report'],
  ['<html>', 'npm printed no report'],
])('returns exit code 3 for the error %j', (output, reason) => {
  const line = expect.stringMatching(new RegExp(`^NOT CHECKED: .*${reason}`)) as string;
  expect(parseAuditOutput(output)).toEqual({ exitCode: 3, lines: [line] });
});

test('returns exit code 0 without vulnerabilities', () => {
  expect(parseAuditOutput('{"auditReportVersion":2,"vulnerabilities":{}}').exitCode).toBe(0);
});

test('returns exit code 1 with the advisories and the vulnerable dependencies', () => {
  const via = [{ title: 'Prototype pollution', url: 'https://github.com/advisories/GHSA-1' }];
  const vulnerabilities = { forge: { severity: 'high', via }, outer: { severity: 'low', via: ['forge'] } };
  expect(parseAuditOutput(JSON.stringify({ vulnerabilities }))).toEqual({
    exitCode: 1,
    lines: ['forge: high; Prototype pollution https://github.com/advisories/GHSA-1', 'outer: low; by forge'],
  });
});
