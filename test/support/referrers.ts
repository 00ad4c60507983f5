import { toConfigName } from '../../src/mco/machine-config.ts';
import type { Reference, Referrer } from '../../src/mco/referrer.ts';

/** A strong reference to a config in each of these fields. */
export function referencesTo(config: string, ...fields: readonly string[]): readonly Reference[] {
  return fields.map((field) => ({ field, config: toConfigName(config), strength: 'strong' }));
}

/** A node that names a config in these fields. */
export function nodeReferrer(name: string, config: string, ...fields: readonly string[]): Referrer {
  return { kind: 'Node', name, references: referencesTo(config, ...fields), state: { type: 'configured' } };
}
