import type { GuardedCluster } from '../../support/guarded-cluster.ts';
import type { Throttling } from '../../support/throttling-proxy.ts';
import type { Fault } from '../fault.ts';

/** Lets the guard see an API server under load. */
function throttleRequests(throttling: Throttling): Fault['inject'] {
  return ({ throttle }: GuardedCluster) => {
    throttle.throttling = throttling;
    const before = throttle.throttledRequests;
    return () => {
      throttle.throttling = {};
      if (throttle.throttledRequests === before) throw new Error('The guard sent no request.');
    };
  };
}

const SEEN_429 = '[`the API server answered 429`](troubleshooting.md#the-api-server-answered-429)';

const everyRequestRejected: Fault = {
  name: 'every-429',
  title: 'The API server answers every request with 429',
  seen: SEEN_429,
  preventsRightAnswers: true,
  requiredAnswer: 'unverified',
  durationMs: 6_000,
  inject: throttleRequests({ rejectedShare: 1 }),
};

const someRequestsRejected: Fault = {
  name: 'some-429',
  title: 'The API server answers every fifth request with 429',
  seen: SEEN_429,
  // A live read takes five requests and waits a second after each 429. This is long enough for several reads.
  durationMs: 12_000,
  inject: throttleRequests({ rejectedShare: 1 / 5 }),
};

const slowAnswers: Fault = {
  name: 'slow-api',
  title: 'Every answer takes two more seconds',
  seen: '[`no complete answer in time`](troubleshooting.md#no-complete-answer-in-time)',
  requiredAnswer: 'unverified',
  durationMs: 7_000,
  inject: throttleRequests({ delayMs: 2_000 }),
};

export const LOAD_FAULTS = [everyRequestRejected, someRequestsRejected, slowAnswers];
