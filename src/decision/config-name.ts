/** Branded: another object's name, passed by mistake, would look unused, and its deletion be allowed. */
export type ConfigName = string & { readonly __brand: 'ConfigName' };

/** `rendered-<pool>-<32 hex>` (machine-config-operator, pkg/controller/render/hash.go). */
export const RENDERED_PREFIX = 'rendered-';
const RENDERED_NAME = /^rendered-(?<pool>.+)-[0-9a-f]{32}$/;
/** Kubernetes limits the names of objects (RFC 1123). */
const MAX_NAME_LENGTH = 253;
const SUBDOMAIN = /^[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?$/;

/** Brands the `metadata.name` of a config, or a field that names a config. */
export function toConfigName(name: string): ConfigName {
  return name as ConfigName;
}

/**
 * Whether the guard protects the config. Only the prefix counts, because a config that a person created again
 * may lack the hash, the owner and the annotations.
 */
export function isRenderedConfig(name: ConfigName): boolean {
  return name.startsWith(RENDERED_PREFIX);
}

export function parsePoolName(name: ConfigName): string | undefined {
  return RENDERED_NAME.exec(name)?.groups?.['pool'];
}

/** Whether an object can have this name (RFC 1123 subdomain). */
export function isObjectName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && SUBDOMAIN.test(name);
}
