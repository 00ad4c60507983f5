/** Calls of commander whose arguments are texts of --help. The linter of prose and the tests of the pages read them. */
const HELP_CALLS = new Set(['addArgument', 'addHelpText', 'addOption', 'description', 'option']);

/** Keeps Stryker from changing the help. */
export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'help',
    value: {
      shouldIgnore: ({ node }) =>
        node.type === 'CallExpression' && HELP_CALLS.has(node.callee.property?.name) ? 'a text of --help' : undefined,
    },
  },
];
