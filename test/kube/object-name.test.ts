import { expect, test } from 'vitest';
import { isObjectName } from '../../src/kube/api-object.ts';

test('an object can have the name of an RFC 1123 subdomain, and no other', () => {
  const names = ['a', '0', 'a-b.c9', 'a--b', 'x'.repeat(253)];
  const others = ['x'.repeat(254), '', '-a', 'a-', 'a\n', 'A', 'a_b', 'a/b', 'a..b', 'a.-b', 'a-.b'];
  expect([...names, ...others].filter(isObjectName)).toEqual(names);
});
