import { toPrintableLine } from '../../common/printable-text.ts';
import type { ConfigName } from '../../decision/config-name.ts';
import { formatName } from '../../decision/message.ts';
import { FIRST_ROLLOUT_MINUTES } from '../../status/dangling-references.ts';

export type ProblemCode =
  | 'ConfigMissing'
  | 'ConfigTerminating'
  | 'NotReported'
  | 'PausedForRestore'
  | 'RolloutUnfinished'
  | 'SpecEmpty'
  | 'StatusEmpty'
  | 'TooFewNodes';

/** Part of the JSON of `check`. */
export interface Problem {
  readonly code: ProblemCode;
  /** Null for `TooFewNodes`. */
  readonly kind: 'Node' | 'MachineConfigPool' | null;
  readonly name: string | null;
  /** Null if it concerns the whole object. */
  readonly field: string | null;
  readonly config: ConfigName | null;
  /** Whether the operator can solve it without a person. */
  readonly recoverable: boolean;
  /** The closest existing name. */
  readonly suggestion: ConfigName | null;
  /** What the guard says about the config. */
  readonly explanation: string | null;
  /** A clause that begins with the object. */
  readonly message: string;
}

/** The objects that have the same problem. */
interface Subject {
  /** `Nodes a and b` */
  readonly names: string;
  readonly isPlural: boolean;
}

interface ProblemTexts {
  /** For the column CHECK. The field is `spec`, `status`, `current`, `desired` or empty. */
  readonly summary: (field: string) => string;
  /** The part of the message after the name of the object. */
  readonly clause: (field: string, config: string) => string;
  readonly sentences: (problem: Problem, subject: Subject) => readonly string[];
}

const MAX_EXPLANATION_LENGTH = 300;
const EMPTY_STATUS = 'status.configuration.name is empty';
const WHEN_SET = 'The operator sets the field when all machines of the pool run the config in its spec.';

/** All texts about the problems. */
export const PROBLEM_TEXTS: Readonly<Record<ProblemCode, ProblemTexts>> = {
  ConfigMissing: {
    summary: (field) => `${field} missing`,
    clause: (field, config) => `${field} ${config} does not exist`,
    sentences: ({ config, recoverable, suggestion, explanation }, { names, isPlural }) => [
      `${formatName(config ?? '')} does not exist; ${lowerFirst(names)} ${isPlural ? 'name' : 'names'} it.`,
      recoverable
        ? 'The Machine Config Operator can still render it.'
        : "No pool's spec names it, so waiting does not help.",
      suggestion === null ? '' : `Closest existing name: ${suggestion}.`,
      explanation === null ? '' : `The guard reports: ${toPhrase(explanation)}.`,
    ],
  },
  ConfigTerminating: {
    summary: (field) => `${field} being deleted`,
    clause: (field, config) => `${field} ${config} is being deleted`,
    sentences: ({ config, recoverable }, { names, isPlural }) => [
      `${formatName(config ?? '')} is in use and being deleted;`,
      `${lowerFirst(names)} ${isPlural ? 'name' : 'names'} it.`,
      'Move the referrers to another config before the finalizers are removed, or keep the finalizers.',
      recoverable ? 'The Machine Config Operator can render the config again.' : '',
    ],
  },
  NotReported: {
    summary: (field) => (field === '' ? 'not reported' : `no ${field} yet`),
    clause: (field) => `has not reported ${field === '' ? 'a configuration' : `its ${field}`} yet`,
    sentences: ({ field }, { names, isPlural }) => {
      const object = field === null ? 'a configuration' : `${isPlural ? 'their' : 'its'} ${field}`;
      return [`${names} ${isPlural ? 'have' : 'has'} not reported ${object} yet.`];
    },
  },
  PausedForRestore: {
    summary: () => 'paused for restore',
    clause: (_field, config) => `is paused for a restore of ${config}`,
    sentences: ({ config }, { names, isPlural }) => [
      `${names} ${isPlural ? 'are' : 'is'} paused for a restore of ${formatName(config ?? '')}.`,
      'Let the restore run, or continue it if it has ended early.',
    ],
  },
  RolloutUnfinished: {
    summary: (field) => `${field} empty`,
    clause: () => `${EMPTY_STATUS} after ${FIRST_ROLLOUT_MINUTES} minutes`,
    sentences: (_problem, { names, isPlural }) => [
      `${names} ${isPlural ? 'have' : 'has'} an empty status.configuration.name`,
      `after ${FIRST_ROLLOUT_MINUTES} minutes.`,
      WHEN_SET,
      'Check whether the pool is paused, and which nodes are Degraded.',
    ],
  },
  SpecEmpty: {
    summary: (field) => `${field} empty`,
    clause: () => 'spec.configuration.name is empty',
    sentences: (_problem, { names, isPlural }) => [
      `${names} ${isPlural ? 'have' : 'has'} an empty spec.configuration.name:`,
      'the operator has not rendered a config yet.',
    ],
  },
  StatusEmpty: {
    summary: (field) => `${field} empty`,
    clause: () => EMPTY_STATUS,
    sentences: ({ recoverable }, { names, isPlural }) => [
      `${names} ${isPlural ? 'have' : 'has'} an empty status.configuration.name: ` +
        'the machine-config-server answers new machines with HTTP 500.',
      WHEN_SET,
      recoverable ? '' : 'A node whose config is missing cannot move to it.',
    ],
  },
  // Its message says how many are missing.
  TooFewNodes: { summary: () => '', clause: () => '', sentences: ({ message }) => [`${message}.`] },
};

function toPhrase(explanation: string): string {
  return toPrintableLine(explanation, MAX_EXPLANATION_LENGTH).replace(/\.$/, '');
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
