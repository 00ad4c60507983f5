import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';

/** How many nodes a network has addresses for. */
export const MAX_NODES = 4;

/** The addresses of a node. */
export type NodeAddresses = ReturnType<ReturnType<typeof chooseNetwork>['addressesOf']>;

/**
 * Chooses the addresses of a cluster, unlike those of every other cluster on this machine. They are from 198.18.0.0/15,
 * which RFC 2544 reserves for tests, so no network that this machine can reach has them.
 */
export function chooseNetwork() {
  const interfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const taken = new Set(interfaces.map(({ address }) => address));
  let number: number;
  do number = randomInt(256);
  while (taken.has(`198.18.${number}.1`));
  const gateway = `198.18.${number}.1`;
  return {
    /** The address of this machine for the nodes and their pods. */
    gateway,
    addressesOf: (index: number) => ({
      gateway,
      /** The interface of this machine that leads to the node. */
      link: `mcg${number}-${index}`,
      address: `198.18.${number}.${10 + index}`,
      /** The subnet of the node's pods. */
      podSubnet: `198.19.${number}.${64 * index}/26`,
    }),
  };
}
