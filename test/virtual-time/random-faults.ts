import type { Fault, SeenRequest } from '../support/faults.ts';
import type { VirtualReplica } from './replica.ts';
import { USED, type VirtualWorld } from './world.ts';

/** A fault that has begun. Returns how it ends. */
type Begin = (world: VirtualWorld, replica: VirtualReplica) => () => void;

const KINDS = [
  'nodes',
  'machineconfigpools',
  'machineosbuilds',
  'machineconfigs',
  'machineconfigguards/cluster',
  'leases',
];

export function pick<T>(random: () => number, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T;
}

function answerWith(fault: Fault): Begin {
  return ({ random, faults }) => {
    const kind = pick(random, [...KINDS, '']);
    const isHit = ({ path }: SeenRequest) => path.includes(kind);
    return faults.intercept((request) => (isHit(request) ? fault : 'pass'));
  };
}

/** What can happen between a replica and the API server. */
export const FAULTS: Readonly<Record<string, Begin>> = {
  'the API server refuses connections': ({ network }, { name }) => {
    network.refused.add(name);
    network.reset(name);
    return () => network.refused.clear();
  },
  'the network is silent and continues': ({ network }, { name }) => {
    network.freeze(name);
    network.silent.add(name);
    return () => {
      network.silent.clear();
      network.thaw(name);
    };
  },
  'open connections are dead': ({ network }, { name }) => {
    network.freeze(name);
    return () => {};
  },
  'open connections are reset': ({ network }, { name }) => {
    network.reset(name);
    return () => {};
  },
  'requests hang': answerWith('hang'),
  'requests are reset': answerWith('reset'),
  '401': answerWith({ status: 401 }),
  '403': answerWith({ status: 403 }),
  '404 of a proxy': answerWith({ status: 404 }),
  '429': answerWith({ status: 429, headers: { 'retry-after': '1' } }),
  '500': answerWith({ status: 500 }),
  '503 without a body': answerWith({ status: 503, body: '' }),
  '200 with something else': answerWith({ status: 200, body: { kind: 'Status', status: 'Success' } }),
  'watches are silent': ({ faults }) => {
    const silent = [...faults.watches];
    for (const watch of silent) watch.cork();
    return () => silent.forEach((watch) => watch.uncork());
  },
  'watches end with 410': ({ faults }) => {
    const error = { type: 'ERROR', object: { kind: 'Status', code: 410 } };
    for (const watch of faults.watches) watch.end(`${JSON.stringify(error)}\n`);
    return () => {};
  },
  'a node is malformed': (world) => {
    world.setNode('worker-2', 7 as unknown as string);
    return () => world.setNode('worker-2', USED);
  },
  'the clock of the API server is wrong': (world) => {
    world.apiClockOffsetMs = pick(world.random, [-600_000, 600_000]);
    return () => (world.apiClockOffsetMs = 0);
  },
};
