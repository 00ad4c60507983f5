import { describe, expect, test } from 'vitest';
import { readAudit } from '../../build/audit-answer.ts';

describe('an audit that could not be made is no audit', () => {
  test.each([
    [
      'the registry refuses',
      '{"message":"405 Method Not Allowed - POST https://registry/","statusCode":405}',
      '405 Method',
    ],
    [
      'there is no network',
      '{"error":{"code":"ENOTFOUND"},"message":"request failed, reason: ENOTFOUND"}',
      'ENOTFOUND',
    ],
    ['npm prints nothing', '', 'npm printed no report'],
    ['npm prints a page', '<html>', 'npm printed no report'],
  ])('%s', (_title, output, why) => {
    const { exitCode, lines } = readAudit(output);
    expect(exitCode).toBe(3);
    expect(lines.join('\n')).toMatch(/^NOT CHECKED: /);
    expect(lines.join('\n')).toContain(why);
  });
});

test('nothing known', () => {
  expect(readAudit('{"auditReportVersion":2,"vulnerabilities":{}}').exitCode).toBe(0);
});

test('what is known is said with its advisory, and with the package by which it comes', () => {
  const via = [{ title: 'Prototype pollution', url: 'https://github.com/advisories/GHSA-1' }];
  const vulnerabilities = { forge: { severity: 'high', via }, outer: { severity: 'low', via: ['forge'] } };
  expect(readAudit(JSON.stringify({ vulnerabilities }))).toEqual({
    exitCode: 1,
    lines: ['forge: high; Prototype pollution https://github.com/advisories/GHSA-1', 'outer: low; by forge'],
  });
});
