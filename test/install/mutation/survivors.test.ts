import { expect, test } from 'vitest';
import { compareWithList } from './survivors.ts';

const LIST = [{ reason: 'a text', changes: { 'Role x: * verbs *': 2, 'Role x: *': 0 } }];

test.each([
  ['matches its patterns', ['Role x: a verbs b', 'Role x: c verbs d'], [], []],
  ['has no pattern', ['Role y: a', 'Role x: a verbs b', 'Role x: c verbs d'], ['Role y: a'], []],
  [
    'is one more than its pattern says',
    ['Role x: a', 'Role x: a verbs b', 'Role x: c verbs d'],
    ['Role x: *: 1 instead of 0'],
    [],
  ],
  ['is noticed now', ['Role x: a verbs b'], [], ['Role x: * verbs *: 1 instead of 2']],
])('a survivor that %s', (_condition, survivors, unlisted, outdated) => {
  expect(compareWithList(survivors, LIST)).toEqual({ unlisted, outdated });
});
