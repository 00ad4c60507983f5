import { noClock } from './no-clock.js';

/** Prettier wraps code at 120 columns, but no comments and no strings. This rule reports every longer line. */
const MAX_COLUMNS = 120;

const maxLineLength = {
  create: (context) => ({
    Program: () => {
      for (const [index, text] of context.sourceCode.text.split('\n').entries()) {
        if (text.length <= MAX_COLUMNS) continue;
        const line = index + 1;
        context.report({
          message: `This line has ${text.length} columns; the limit is ${MAX_COLUMNS}.`,
          loc: { start: { line, column: MAX_COLUMNS }, end: { line, column: text.length } },
        });
      }
    },
  }),
};

export default { meta: { name: 'house' }, rules: { 'max-line-length': maxLineLength, 'no-clock': noClock } };
