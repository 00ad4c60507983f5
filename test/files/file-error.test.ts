import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { explainError } from '../../src/files/file-error.ts';

test.each([
  ['read', 'tls.key'],
  ['write to', 'out'],
])('says for a permission to %s %s what to check', (verb, file) => {
  const error = Object.assign(new Error('EACCES'), { code: 'EACCES', errno: -constants.errno.EACCES });
  expect(explainError(file, error, verb)).toMatchObject({
    message: `cannot ${verb} ${file}: permission denied; check its owner and mode`,
  });
});
