import type { Referrer, ReferrerKind } from '../decision/references.ts';
import { type ConfigName, isRenderedConfig } from '../decision/config-name.ts';

/** A reference to a config that does not exist, or a pool that names none where it has to. */
export interface DanglingReference {
  readonly kind: ReferrerKind;
  readonly name: string;
  readonly field: string;
  /** Undefined where a pool's status names no config although its spec does: nodes that boot are then served nothing. */
  readonly config: ConfigName | undefined;
}

/**
 * Which references lead nowhere. Only those without which the referrer breaks count: a node with one is Degraded or becomes so,
 * a pool cannot be rolled out.
 */
export function findDanglingReferences(
  referrers: Iterable<Referrer>,
  configs: ReadonlySet<ConfigName>,
): DanglingReference[] {
  const dangling: DanglingReference[] = [];
  for (const { kind, name, references } of referrers) {
    for (const { field, config, strength } of references) {
      if (strength === 'strong' && !configs.has(config)) dangling.push({ kind, name, field, config });
    }
    const has = (field: string): boolean => references.some((use) => use.field === field);
    if (kind === 'MachineConfigPool' && has('spec') && !has('status')) {
      dangling.push({ kind, name, field: 'status', config: undefined });
    }
  }
  return dangling;
}

/** How many existing rendered configs are in use, and so cannot be deleted. */
export function countProtectedConfigs(referrers: Iterable<Referrer>, configs: ReadonlySet<ConfigName>): number {
  const used = new Set<ConfigName>();
  for (const { references } of referrers) {
    for (const { config, strength } of references) {
      if (strength === 'strong' && isRenderedConfig(config) && configs.has(config)) used.add(config);
    }
  }
  return used.size;
}

/** Why a config does not exist, as far as it was seen, in a sentence without its full stop. */
export function explainMissingConfig(config: ConfigName | undefined, deletedAt: Date | undefined): string {
  if (config === undefined) return 'the pool names no config in its status: machines that boot are served nothing';
  if (deletedAt !== undefined) return `deleted at ${deletedAt.toISOString()}`;
  return 'never seen in this cluster since the guard has been watching: rendered elsewhere, as during bootstrap, or misspelt';
}
