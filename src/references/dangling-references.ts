import { type ConfigName, isRenderedConfig } from '../decision/config-name.ts';
import type { Referrer, ReferrerKind } from '../decision/references.ts';

/** A strong reference to a config that does not exist, or a pool whose status names no config. */
export interface DanglingReference {
  readonly kind: ReferrerKind;
  readonly name: string;
  readonly field: string;
  /** Undefined if a pool's status names no config although its spec does. */
  readonly config: ConfigName | undefined;
}

/** Ignores weak references, because their referrers work without the config. */
export function findDanglingReferences(
  referrers: Iterable<Referrer>,
  configs: ReadonlySet<ConfigName>,
): DanglingReference[] {
  const dangling: DanglingReference[] = [];
  for (const { kind, name, references } of referrers) {
    for (const { field, config, strength } of references) {
      if (strength === 'strong' && !configs.has(config)) dangling.push({ kind, name, field, config });
    }
    const hasField = (field: string): boolean => references.some((reference) => reference.field === field);
    if (kind === 'MachineConfigPool' && hasField('spec') && !hasField('status')) {
      dangling.push({ kind, name, field: 'status', config: undefined });
    }
  }
  return dangling;
}

/** Finds the existing rendered configs that are in use. */
export function findProtectedConfigs(
  referrers: Iterable<Referrer>,
  configs: ReadonlySet<ConfigName>,
): ReadonlySet<ConfigName> {
  const inUse = new Set<ConfigName>();
  for (const { references } of referrers) {
    for (const { config, strength } of references) {
      if (strength === 'strong' && isRenderedConfig(config) && configs.has(config)) inUse.add(config);
    }
  }
  return inUse;
}

export function explainMissingConfig(config: ConfigName | undefined, deletedAt: Date | undefined): string {
  if (config === undefined) return 'the pool has no config in its status, so booting machines get none';
  if (deletedAt !== undefined) return `deleted at ${deletedAt.toISOString()}`;
  const cause = 'deleted earlier, rendered elsewhere, as during bootstrap, or misspelled';
  return `never existed since this guard pod started to watch: ${cause}`;
}
