import { expect, test } from 'vitest';
import { parseAuditOutput } from '../../build/audit-result.ts';

test.each([
  ['{"error":{"code":"ENOTFOUND"},"message":"request failed, reason: ENOTFOUND"}', 'ENOTFOUND'],
  ['', 'npm printed no report'],
])('returns exit code 3 for the error %j', (output, reason) => {
  const line = expect.stringMatching(new RegExp(`^NOT CHECKED: .*${reason}`)) as string;
  expect(parseAuditOutput(output)).toEqual({ exitCode: 3, lines: [line] });
});

test('returns exit code 1 for vulnerabilities, else 0', () => {
  expect(parseAuditOutput('{"vulnerabilities":{}}').exitCode).toBe(0);
  const via = [{ title: 'Prototype pollution', url: 'https://github.com/advisories/GHSA-1' }];
  const vulnerabilities = { forge: { severity: 'high', via }, outer: { severity: 'low', via: ['forge'] } };
  expect(parseAuditOutput(JSON.stringify({ vulnerabilities }))).toEqual({
    exitCode: 1,
    lines: ['forge: high; Prototype pollution https://github.com/advisories/GHSA-1', 'outer: low; by forge'],
  });
});
