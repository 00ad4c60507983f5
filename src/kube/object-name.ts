/** Kubernetes limits the names of objects (RFC 1123). */
export const MAX_NAME_LENGTH = 253;
const SUBDOMAIN = /^[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?$/;

/** Whether an object can have this name (RFC 1123 subdomain). */
export function isObjectName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && SUBDOMAIN.test(name);
}
