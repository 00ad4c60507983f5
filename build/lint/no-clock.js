/**
 * A test that a clock decides fails on a busy machine. This rule reports two kinds: an upper limit of a measured time,
 * and an expectation right after a pause. An exception needs a reason: `-- REASON` after the name of the rule.
 */
const UPPER_LIMITS = new Set(['toBeLessThan', 'toBeLessThanOrEqual']);
const CLOCKS = new Set(['performance.now', 'Date.now']);
const PAUSES = new Set(['delay', 'pause', 'setTimeout', 'sleep']);
const DISABLED = /^\s*oxlint-disable\S* .*house\/no-clock/;
const DISABLED_WITH_REASON = /house\/no-clock.* -- \S/;

/** All nodes of a tree that pass the filter. */
function findNodes(node, filter) {
  if (node === null || typeof node !== 'object') return [];
  if (Array.isArray(node)) return node.flatMap((one) => findNodes(one, filter));
  if (typeof node.type !== 'string') return [];
  const children = Object.entries(node).filter(([key]) => key !== 'parent');
  const found = children.flatMap(([, value]) => findNodes(value, filter));
  return filter(node) ? [node, ...found] : found;
}

function nameOf({ type, callee }) {
  if (type !== 'CallExpression') return '';
  if (callee.type === 'Identifier') return callee.name;
  return callee.type === 'MemberExpression' ? `${callee.object.name ?? ''}.${callee.property.name ?? ''}` : '';
}

const readsClock = (node) => findNodes(node, (one) => CLOCKS.has(nameOf(one))).length > 0;

/** Whether a statement waits for nothing but time. */
function isPause({ type, expression }) {
  if (type !== 'ExpressionStatement' || expression.type !== 'AwaitExpression') return false;
  const { argument } = expression;
  const isPromise = argument.type === 'NewExpression' && argument.callee.name === 'Promise';
  return isPromise
    ? findNodes(argument, (one) => nameOf(one) === 'setTimeout').length > 0
    : PAUSES.has(nameOf(argument));
}

const EXPECTATIONS = new Set(['ExpressionStatement', 'ForOfStatement', 'ForStatement', 'IfStatement']);

const isExpectation = (statement) =>
  EXPECTATIONS.has(statement?.type) && findNodes(statement, (one) => nameOf(one) === 'expect').length > 0;

export const noClock = {
  create: (context) => {
    const clockNames = new Set();
    const limits = [];
    const checkBlock = ({ body }) => {
      for (const [index, statement] of body.entries()) {
        if (isPause(statement) && isExpectation(body[index + 1]))
          context.report({ message: 'Wait for an event instead of a time before this expectation.', node: statement });
      }
    };
    return {
      VariableDeclarator: ({ id, init }) => {
        if (id.type === 'Identifier' && init?.type !== 'ArrowFunctionExpression' && readsClock(init))
          clockNames.add(id.name);
      },
      AssignmentExpression: ({ left, right }) => {
        if (left.type === 'Identifier' && readsClock(right)) clockNames.add(left.name);
      },
      CallExpression: (node) => {
        if (node.callee.type === 'MemberExpression' && UPPER_LIMITS.has(node.callee.property.name)) limits.push(node);
      },
      BlockStatement: checkBlock,
      Program: checkBlock,
      'Program:exit': () => {
        for (const node of limits) {
          const isClock = (one) =>
            CLOCKS.has(nameOf(one)) || (one.type === 'Identifier' && (one.name === 'ms' || clockNames.has(one.name)));
          if (findNodes(node.callee.object, isClock).length > 0)
            context.report({ message: 'No test limits a measured time. Wait for an event, or use fake timers.', node });
        }
        for (const comment of context.sourceCode.getAllComments()) {
          if (DISABLED.test(comment.value) && !DISABLED_WITH_REASON.test(comment.value))
            context.report({ message: 'Give the reason for the exception after " -- ".', loc: comment.loc });
        }
      },
    };
  },
};
