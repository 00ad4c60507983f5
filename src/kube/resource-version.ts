/** Etcd counts versions upwards. Returns false if one is not a number. */
export function isOlderVersion(a: string, b: string): boolean {
  return /^\d+$/.test(a) && /^\d+$/.test(b) && BigInt(a) < BigInt(b);
}
