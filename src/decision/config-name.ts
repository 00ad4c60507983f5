/**
 * The name of a MachineConfig. A brand, because names of nodes, pools and configs are all strings and a mix-up of two of
 * them would read as "not in use".
 */
export type ConfigName = string & { readonly __brand: 'ConfigName' };

/** What the render controller puts before every name it makes: `rendered-<pool>-<32 hex>` (machine-config-operator, pkg/controller/render/hash.go). */
const RENDERED_PREFIX = 'rendered-';

const RENDERED_NAME = /^rendered-(?<pool>.+)-[0-9a-f]{32}$/;

/** Marks a string read from a config's own `metadata.name` or from a field that names a config. */
export function toConfigName(name: string): ConfigName {
  return name as ConfigName;
}

/**
 * Is this a config that the guard protects? The prefix chooses what is guarded and never whether it is used: a config
 * written again by hand keeps the prefix but may lack the hash, the owner and the annotations.
 */
export function isRenderedConfig(name: ConfigName): boolean {
  return name.startsWith(RENDERED_PREFIX);
}

/**
 * The pool that a rendered config was made for, or undefined where the name does not have the render controller's form.
 * Read from the right, because a pool's name may itself contain `-`.
 */
export function poolOfConfig(name: ConfigName): string | undefined {
  return RENDERED_NAME.exec(name)?.groups?.['pool'];
}
