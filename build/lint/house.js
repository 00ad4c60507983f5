import path from 'node:path';

/** Prettier wraps code at 120 columns, but no comments and no strings. */
const MAX_COLUMNS = 120;
const LONG_LINE = new RegExp(`(?<=^.{${MAX_COLUMNS}}).+`, 'gm');

const CLOCK = String.raw`(?:performance|Date)\.now\(\)`;
/** A name that keeps a time, such as `const seconds = (Date.now() - startedAt) / 1_000`. */
const CLOCK_NAME = new RegExp(String.raw`(\w+)(?:: \w+)? = [^;=]*${CLOCK}`, 'g');
/** Nothing but a pause, and an expectation after it. */
const PAUSE = new RegExp(
  String.raw`await (?:(?:delay|pause|setTimeout|sleep)\(|new Promise\([^;]*setTimeout)[^;]*;` +
    String.raw`\n\s*(?:(?:for|if) \(.*\n\s*)?(?:await )?expect\(`,
  'g',
);
const WITHOUT_REASON = /^\s*\/\/ oxlint-disable\S* .*house\/no-clock(?!.* -- \S)/gm;

/** Reports each match of the patterns, which can depend on the text. */
const createRule = (findPatterns) => ({
  create: (context) => ({
    Program: () => {
      const { text } = context.sourceCode;
      for (const [pattern, message] of findPatterns(text)) {
        for (const { index, 0: match } of text.matchAll(pattern)) {
          const [start, end] = [index, index + match.length].map((at) => context.sourceCode.getLocFromIndex(at));
          context.report({ message, loc: { start, end } });
        }
      }
    },
  }),
});

const maxLineLength = createRule(() => [[LONG_LINE, `The limit of a line is ${MAX_COLUMNS} columns.`]]);

/**
 * A test that a clock decides fails on a busy machine. This rule reports two kinds: an upper limit of a measured time,
 * and an expectation right after a pause. An exception needs a reason: `-- REASON` after the name of the rule.
 */
const noClock = createRule((text) => {
  const names = ['ms', ...Array.from(text.matchAll(CLOCK_NAME), ([, name]) => name)];
  const limit = new RegExp(
    String.raw`(?<=^|[\s)])expect\((?:(?!expect\()[^;])*(?:${CLOCK}|\b(?:${names.join('|')})\b)[^;]*\)\.toBeLessThan`,
    'g',
  );
  return [
    [limit, 'No test limits a measured time. Wait for an event, or use fake timers.'],
    [PAUSE, 'Wait for an event instead of a time before this expectation.'],
    [WITHOUT_REASON, 'Give the reason for the exception after " -- ".'],
  ];
});

/** The room of a file, such as `kube` for `/repository/src/kube/lists/list.ts`. Undefined outside of `src/`. */
const findRoom = (file) => /\/src\/(\w[-\w]*)\//.exec(file)?.[1];

/**
 * A room, which is a folder of `src/`, imports only itself and the rooms that its entry in the options lists. Type-only
 * imports count, too. A room without an entry may import nothing.
 */
const rooms = {
  meta: { schema: [{ type: 'object' }] },
  create: (context) => {
    const room = findRoom(context.filename);
    if (room === undefined) return {};
    const allowed = new Set([room, ...(context.options[0][room] ?? [])]);
    const check = ({ source }) => {
      if (typeof source?.value !== 'string' || !source.value.startsWith('.')) return;
      const target = findRoom(path.resolve(path.dirname(context.filename), source.value));
      if (target === undefined || allowed.has(target)) return;
      const message = `src/${room} may not import src/${target}: see docs/internals/development.md.`;
      context.report({ message, node: source });
    };
    return {
      ExportAllDeclaration: check,
      ExportNamedDeclaration: check,
      ImportDeclaration: check,
      ImportExpression: check,
    };
  },
};

export default {
  meta: { name: 'house' },
  rules: { 'max-line-length': maxLineLength, 'no-clock': noClock, rooms },
};
