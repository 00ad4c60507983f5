import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';

/** How many nodes a network has addresses for. */
export const MAX_NODES = 4;

/** The addresses of a node. */
export interface NodeAddresses {
  /** The address of this machine for the node and its pods. */
  readonly gateway: string;
  /** The interface of this machine that leads to the node. */
  readonly link: string;
  readonly address: string;
  /** The subnet of the node's pods. */
  readonly podSubnet: string;
}

/**
 * The addresses of a cluster. They are from 198.18.0.0/15, which RFC 2544 reserves for tests, so no network that this
 * machine can reach has them.
 */
export class NodeNetwork {
  /** Unlike that of every other cluster on this machine. */
  readonly #number: number;
  /** The address of this machine for the nodes and their pods. */
  readonly gateway: string;

  constructor() {
    const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const isTaken = (number: number) => addresses.some(({ address }) => address === gatewayOf(number));
    do this.#number = randomInt(256);
    while (isTaken(this.#number));
    this.gateway = gatewayOf(this.#number);
  }

  addressesOf(index: number): NodeAddresses {
    return {
      gateway: this.gateway,
      link: `mcg${this.#number}-${index}`,
      address: `198.18.${this.#number}.${10 + index}`,
      podSubnet: `198.19.${this.#number}.${64 * index}/26`,
    };
  }
}

function gatewayOf(number: number) {
  return `198.18.${number}.1`;
}
