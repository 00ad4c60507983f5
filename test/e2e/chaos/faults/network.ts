import type { Fault } from '../fault.ts';

const networkSilent: Fault = {
  name: 'network-silent',
  title: 'The network to the API server drops all packets',
  seen: '[`no complete answer in time`](troubleshooting.md#no-complete-answer-in-time)',
  requiredAnswer: 'unverified',
  durationMs: 6_000,
  inject: ({ network }) => {
    network.silence();
    return () => network.resume();
  },
};

/** As when a load balancer or a firewall has forgotten the connections and tells neither end. */
const connectionsHalfOpen: Fault = {
  name: 'connections-half-open',
  title: 'Open connections go silent, new ones work',
  seen: '[`mcguard_index_age_seconds`](metrics.md) grows',
  durationMs: 7_000,
  inject: ({ network }) => {
    network.freeze();
    const before = network.accepted;
    return async () => {
      await network.resume();
      if (network.accepted === before) throw new Error('The guard has made no new connection.');
    };
  },
};

export const NETWORK_FAULTS = [networkSilent, connectionsHalfOpen];
