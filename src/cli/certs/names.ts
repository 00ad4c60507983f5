import { isIP } from 'node:net';

/** RFC 1035 §2.3.4, without the trailing dot. */
const MAX_NAME_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;

/**
 * Returns a phrase that follows the name, or undefined for a valid name. Only letters, digits and hyphens are
 * allowed (RFC 1123 §2.1). Of all others Go matches only underscores (crypto/x509 validHostname).
 */
export function findDnsNameProblem(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (isIP(name) !== 0) return 'is an IP address, not a DNS name';
  if (name.length > MAX_NAME_LENGTH) return `is longer than ${MAX_NAME_LENGTH} characters`;
  if (name.includes('*')) return 'has a wildcard; name each host';
  for (const label of name.split('.')) {
    if (label === '') return 'has an empty part between its dots, or a dot at an end';
    if (label.length > MAX_LABEL_LENGTH) return `has a part longer than ${MAX_LABEL_LENGTH} characters`;
    if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i.test(label)) {
      return 'has a part that is not letters, digits and inner hyphens (write other scripts as xn--...)';
    }
  }
  // Resolvers may read 10.0.0.300 or 0x7f.1 as an address.
  const isLastLabelNumeric = /^(\d+|0x[0-9a-f]*)$/i.test(name.slice(name.lastIndexOf('.') + 1));
  return isLastLabelNumeric ? 'ends in a number, as only addresses do' : undefined;
}

export function findIpAddressProblem(address: string): string | undefined {
  if (address.includes('%')) return 'has a zone; a certificate holds the bare address';
  return isIP(address) === 0 ? 'is not an IPv4 or IPv6 address' : undefined;
}
