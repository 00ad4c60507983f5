import { OBJECT_RULES } from './object-rules.ts';
import { OPERATOR_RULES } from './operator-rules.ts';
import { FILE_RULES, TEXT_RULES } from './text-rules.ts';
import { VALUE_RULES } from './value-rules.ts';

/** Rules that only two renders of the operator can break. */
const RENDER_RULES = {
  RenderFails: {
    message: (detail: string) => `the operator ends with ${detail}`,
    advice: 'correct the manifest, or the install fails in the same way',
  },
  RendersDiffer: {
    message: (detail: string) => `the pool gets ${detail}`,
    advice: 'make both read the same, or nodes wait for a config that never existed',
  },
} as const;

/** All rules by their codes, which are a contract of `--output json`. */
export const RULES = {
  ...FILE_RULES,
  ...TEXT_RULES,
  ...OBJECT_RULES,
  ...VALUE_RULES,
  ...OPERATOR_RULES,
  ...RENDER_RULES,
};

export type Code = keyof typeof RULES;
