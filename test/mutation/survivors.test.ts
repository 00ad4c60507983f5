import { expect, test } from 'vitest';
import { compareSurvivors, countMutants, findSurvivors, type MutationReport } from './survivors.ts';

const FILE = 'src/a.ts';
const location = { start: { line: 2, column: 11 }, end: { line: 3, column: 4 } };
const REPORT: MutationReport = {
  files: {
    [FILE]: {
      source: 'const a = 1;\nconst b = a &&\n  c;\n',
      mutants: [
        { mutatorName: 'LogicalOperator', replacement: 'a || c', status: 'Survived', location },
        { mutatorName: 'LogicalOperator', replacement: 'a', status: 'Killed', location },
        { mutatorName: 'StringLiteral', replacement: '""', status: 'Ignored', location },
      ],
    },
    'src/b.ts': { source: '', mutants: [] },
  },
};

test('describes a survivor by its text and its change, and counts what was tested', () => {
  expect(findSurvivors(REPORT)).toEqual({ [FILE]: ['LogicalOperator: a && c → a || c'] });
  expect(countMutants(REPORT)).toBe(2);
});

test.each([
  ['the list names each survivor', ['x', 'x'], ['x', 'x'], []],
  ['a survivor is new', ['x', 'y'], ['x'], [`${FILE}: no test notices y`]],
  ['the same change survives once more', ['x', 'x'], ['x'], [`${FILE}: no test notices x`]],
  ['a test notices a listed change', [], ['x'], [`${FILE}: a test notices, so remove from the list: x`]],
])('if %s, a run with %j and the list %j has the problems %j', (_condition, found, listed, problems) => {
  expect(compareSurvivors({ [FILE]: found }, { [FILE]: listed })).toEqual(problems);
});
