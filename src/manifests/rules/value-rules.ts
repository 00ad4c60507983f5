import { MACHINE_CONFIG } from '../manifest-set.ts';
import { ifSelected, type Rule, whenSelected } from './rule.ts';

/** Rules about the values of fields, which check-values.ts finds. */
export const VALUE_RULES = {
  DuplicateEntry: {
    severity: (object, set) => (object.type === MACHINE_CONFIG ? ifSelected(object, set) : 'error'),
    message: (detail, severity) =>
      `${detail} is there twice: ${whenSelected('the bootstrap of the cluster fails', severity)}`,
    advice: 'delete one',
  },
  IgnoredName: {
    severity: 'warning',
    isLoss: true,
    message: (detail) => `${detail}: no cluster reads the object`,
    advice: 'rename it',
  },
  InvalidContents: {
    severity: ifSelected,
    message: (detail, severity) =>
      `${detail}: ${whenSelected('the install fails, or nodes become Degraded', severity)}`,
    advice: 'correct the field',
  },
  InvalidValue: {
    severity: 'error',
    message: (detail) => `${detail}: the install fails, or nodes do not become Ready`,
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
    message: (detail) => detail,
    advice: 'correct its name or its indentation',
  },
  UnknownRule: {
    severity: 'warning',
    message: (detail) => `${detail}: only the API server can apply it`,
    advice: 'try it in a cluster: oc apply --dry-run=server',
  },
  UnlikelyValue: {
    severity: 'warning',
    message: (detail) => `${detail}: it is accepted, and probably not meant`,
    advice: 'correct the value',
  },
  ValueOfRelease: {
    severity: 'warning',
    message: (detail) => `${detail}: the install fails with these releases`,
    advice: 'give --openshift-version if you install another one',
  },
} satisfies Readonly<Record<string, Rule>>;

export type ValueCode = keyof typeof VALUE_RULES;
