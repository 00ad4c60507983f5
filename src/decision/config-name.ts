/** The name of a MachineConfig. Branded, because a mix-up with another name would look like an unused config. */
export type ConfigName = string & { readonly __brand: 'ConfigName' };

/** The form `rendered-<pool>-<32 hex>` is that of machine-config-operator, pkg/controller/render/hash.go. */
const RENDERED_PREFIX = 'rendered-';
const RENDERED_NAME = /^rendered-(?<pool>.+)-[0-9a-f]{32}$/;

/** Brands a string from a config's `metadata.name` or from a field that names a config. */
export function toConfigName(name: string): ConfigName {
  return name as ConfigName;
}

/**
 * Whether the guard protects a config of this name. Only the prefix counts: a config that a person created again keeps
 * the prefix, but may lack the hash, the owner and the annotations.
 */
export function isRenderedConfig(name: ConfigName): boolean {
  return name.startsWith(RENDERED_PREFIX);
}

/** The pool that a config was rendered for, or undefined if the name does not have the form of a rendered config. */
export function poolOfConfig(name: ConfigName): string | undefined {
  return RENDERED_NAME.exec(name)?.groups?.['pool'];
}
