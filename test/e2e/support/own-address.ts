import { networkInterfaces } from 'node:os';

/** The API server refuses endpoints at 127.0.0.1, so that nobody can make it call itself. */
export function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const own = addresses.find(
    ({ family, internal, address }) => family === 'IPv4' && !internal && !address.startsWith('169.254.'),
  );
  if (own === undefined)
    throw new Error('This machine has no IPv4 address but 127.0.0.1, which no Service may have as a backend.');
  return own.address;
}
