import { MACHINE_CONFIG } from '../kinds.ts';
import type { ManifestObject, ManifestSet } from '../manifest-set.ts';
import { ifSelected, type Severity, whenSelected } from './rule.ts';

/** A rule about the value of a field, for which check-values.ts has the cases. */
interface ValueRule {
  readonly severity: Severity | ((object: ManifestObject, set: ManifestSet) => Severity);
  readonly message: (detail: string, severity: Severity) => string;
  readonly advice: string;
  readonly isLoss?: boolean;
}

export const VALUE_RULES = {
  DuplicateEntry: {
    severity: (object, set) => (object.type === MACHINE_CONFIG ? ifSelected(object, set) : 'error'),
    message: (detail, severity) =>
      `${detail} is there twice: ${whenSelected('the bootstrap of the cluster fails', severity)}`,
    advice: 'delete one',
  },
  InvalidContents: {
    severity: ifSelected,
    message: (detail, severity) => `${detail}: ${whenSelected('the install fails', severity)}`,
    advice: 'correct the value',
  },
  InvalidValue: {
    severity: 'error',
    message: (detail) => `${detail}: the bootstrap of the cluster fails`,
    advice: 'correct the value',
  },
  NotAString: {
    severity: 'error',
    message: (detail) => `${detail}: the bootstrap of the cluster fails`,
    advice: 'put the value into quotes',
  },
  UnknownField: {
    severity: 'warning',
    isLoss: true,
    message: (detail) => `no release reads the field ${detail}`,
    advice: 'correct its name or its indentation',
  },
  ValueOfRelease: {
    severity: 'warning',
    message: (detail) => `${detail}: the install fails with these releases`,
    advice: 'give --openshift-version if you install another one',
  },
} satisfies Readonly<Record<string, ValueRule>>;

export type ValueCode = keyof typeof VALUE_RULES;
