import { expect, onTestFinished, vi } from 'vitest';
import type { InMemoryCluster } from '../../support/in-memory-cluster/in-memory-cluster.ts';
import type { ApiRequest, KubeApi } from '../../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../../src/kube/errors.ts';
import { InProcessApi } from '../../support/in-process-api.ts';

export const STOPS = ['403', '409', '503', 'connection lost', 'response lost', 'Ctrl-C'] as const;
export type Stop = (typeof STOPS)[number];

const ERRORS: Readonly<Record<Exclude<Stop, 'Ctrl-C'>, Error>> = {
  403: new ApiError(403, 'Forbidden', 'is forbidden'),
  409: new ApiError(409, 'Conflict', 'the object has been modified'),
  503: new ApiError(503, 'ServiceUnavailable', 'shutting down'),
  'connection lost': new ApiUnreachable('test cannot be reached: ECONNREFUSED', {
    cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
  }),
  'response lost': new ApiUnreachable('test cannot be reached: ECONNRESET', {
    cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
  }),
};

/** A client of an API server that answers some requests and then stops. */
export class StoppingApi extends InProcessApi {
  readonly address = 'api.example.com:6443';
  readonly #stopped = new AbortController();
  readonly #limit: number;
  readonly #stop: Stop;

  constructor(cluster: InMemoryCluster, stop: Stop = '503', after = Number.POSITIVE_INFINITY) {
    super(cluster);
    this.#stop = stop;
    this.#limit = after;
  }

  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  get client(): KubeApi {
    return this as unknown as KubeApi;
  }

  listWrites(): readonly ApiRequest[] {
    return this.requests.filter(({ method = 'GET', path }) => method !== 'GET' && !path.includes('dryRun='));
  }

  override async json(request: ApiRequest): Promise<unknown> {
    const isStopped = this.requests.length >= this.#limit;
    const isFirst = this.requests.length === this.#limit;
    if (!isStopped) return await super.json(request);
    if (this.#stop === 'response lost' && isFirst) await super.json(request);
    else this.requests.push(request);
    if (this.#stop !== 'Ctrl-C') throw ERRORS[this.#stop];
    this.#stopped.abort();
    // Otherwise the run would end only with the answer.
    expect.soft(request.signal.aborted, request.path).toBe(true);
    throw this.signal.reason;
  }
}

/** Time passes only when nothing else happens. */
export function skipWaits(): void {
  vi.useFakeTimers({ toFake: ['clearTimeout', 'performance', 'setTimeout'] });
  vi.setTimerTickMode('nextTimerAsync');
  onTestFinished(() => void vi.useRealTimers());
}
