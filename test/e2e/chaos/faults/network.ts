import type { Fault } from '../support/fault.ts';

export const networkSwallows: Fault = {
  name: 'network-silent',
  title: 'The network between guard and API server swallows everything',
  seen: '`no complete answer in time` in [MCG_UNVERIFIED](codes.md#mcg_unverified); [what to do](troubleshooting.md#no-complete-answer-in-time)',
  answers: { used: ['unverified', 'in use'], free: ['unverified', 'let go'] },
  proof: 'unverified',
  lastsMs: 6_000,
  begin: ({ network }) => {
    network.swallow();
    return () => network.resume();
  },
};

/** As after a load balancer or a firewall has forgotten them: nobody tells either end. */
export const connectionsForgotten: Fault = {
  name: 'connections-half-open',
  title: 'Open connections of the guard fall silent, new ones work',
  seen: '[MCG_UNVERIFIED](codes.md#mcg_unverified) in the first seconds at most; [`mcguard_index_age_seconds`](metrics.md) grows',
  answers: { used: ['in use', 'unverified'], free: ['let go', 'unverified'] },
  lastsMs: 7_000,
  begin: ({ network }) => {
    network.freeze();
    const before = network.accepted;
    return async () => {
      await network.resume();
      if (network.accepted === before) throw new Error('The guard has made no new connection.');
    };
  },
};
