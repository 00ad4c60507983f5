import { isHold, MODES } from '../decision/settings.ts';
import type { InstallationOptions } from './installation.ts';

/** The flags of `render` that an upgrade must repeat, on the namespace of the guard. */
export const RENDER_FLAGS_ANNOTATION = 'machineconfig-guard.io/render-flags';

export type RecordedFlagName =
  Exclude<keyof InstallationOptions, 'image' | 'authority' | 'previousAuthority' | 'kubernetesVersion'> | 'tls';
/** Undefined means that the flag has no value. */
export type FlagValue = string | boolean | undefined;
export type FlagValues = Partial<Readonly<Record<RecordedFlagName, FlagValue>>>;

interface RecordedFlag {
  readonly name: RecordedFlagName;
  readonly flag: string;
  readonly initial: FlagValue;
  /** Of a flag with a value. */
  readonly isValid?: (value: string) => boolean;
}

const isOneOf = (values: readonly string[]) => (value: string) => values.includes(value);

export const RECORDED_FLAGS: readonly RecordedFlag[] = [
  {
    name: 'profile',
    flag: '--profile',
    initial: 'fail-closed',
    isValid: isOneOf(['fail-closed', 'fail-open-with-floor']),
  },
  { name: 'tls', flag: '--tls', initial: 'generated', isValid: isOneOf(['generated', 'service-ca']) },
  { name: 'mode', flag: '--mode', initial: undefined, isValid: isOneOf(MODES) },
  { name: 'hold', flag: '--hold', initial: undefined, isValid: isHold },
  { name: 'singleNode', flag: '--single-node', initial: false },
  { name: 'hostNetwork', flag: '--host-network', initial: false },
  { name: 'machineconfigAccess', flag: '--no-machineconfig-access', initial: true },
  { name: 'openNetwork', flag: '--open-network', initial: false },
  { name: 'referencePolicy', flag: '--reference-policy', initial: false },
];

/** Formats the flags that differ from their default, and always profile and TLS. */
export function formatFlags(values: FlagValues): string {
  return RECORDED_FLAGS.flatMap(({ name, flag, initial }) => {
    const value = values[name] ?? initial;
    if (typeof value === 'string') return [`${flag}=${value}`];
    return value === initial ? [] : [flag];
  }).join(' ');
}

/** @throws RangeError if this version does not know a flag or its value */
export function readFlags(text: string): FlagValues {
  const values = new Map<RecordedFlagName, FlagValue>(RECORDED_FLAGS.map(({ name, initial }) => [name, initial]));
  for (const word of text.split(' ').filter((part) => part !== '')) {
    const [flag = '', value] = word.split('=');
    const known = RECORDED_FLAGS.find((candidate) => candidate.flag === flag);
    const isValid = value === undefined ? known?.isValid === undefined : known?.isValid?.(value) === true;
    if (known === undefined || !isValid) throw new RangeError(word);
    values.set(known.name, value ?? known.initial === false);
  }
  return Object.fromEntries(values);
}
