import type { Load } from '../support/api-front.ts';
import type { Fault } from '../support/fault.ts';
import type { Stage } from '../support/stage.ts';

/** Puts the API server under load as the guard sees it; what it returns takes the load away. */
function under(load: Load) {
  return ({ front }: Stage) => {
    front.load = load;
    const before = { ...front.met };
    return () => {
      front.load = {};
      const { refused, delayed } = front.met;
      if (refused === before.refused && delayed === before.delayed) throw new Error('The guard asked nothing.');
    };
  };
}

const ANSWERED_429 =
  '`the API server answered 429` in [MCG_UNVERIFIED](codes.md#mcg_unverified); [what to do](troubleshooting.md#the-api-server-answered-429)';

export const everyRequestRefused: Fault = {
  name: 'every-429',
  title: '429 to every request of the guard',
  seen: ANSWERED_429,
  answers: { used: ['unverified'], free: ['unverified'] },
  proof: 'unverified',
  lastsMs: 6_000,
  begin: under({ refused: 1 }),
};

export const someRequestsRefused: Fault = {
  name: 'some-429',
  title: '429 to every fifth request of the guard',
  seen: ANSWERED_429,
  answers: { used: ['in use', 'unverified'], free: ['let go', 'unverified'] },
  // A read is five requests, and waits a second after each refusal: long enough for several reads.
  lastsMs: 12_000,
  begin: under({ refused: 1 / 5 }),
};

export const slowAnswers: Fault = {
  name: 'slow-api',
  title: 'Two seconds more for every answer to the guard',
  seen: '`no complete answer in time` in [MCG_UNVERIFIED](codes.md#mcg_unverified); [what to do](troubleshooting.md#no-complete-answer-in-time)',
  answers: { used: ['in use', 'unverified'], free: ['let go', 'unverified'] },
  proof: 'unverified',
  lastsMs: 7_000,
  begin: under({ delayMs: 2_000 }),
};
