import { Readable } from 'node:stream';
import type { InMemoryCluster } from '../../src/demo/cluster/in-memory-cluster.ts';
import type { ApiRequest, ApiResponse, KubeApi } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { waitOrAbort } from '../../src/common/wait.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import type { Random } from './random.ts';

/** The API server first handles a call. Its answer may arrive much later. */
interface Call {
  readonly request: ApiRequest;
  readonly settle: (answer: Promise<unknown>) => void;
  answer?: Promise<unknown>;
  /** When the API server handled the call. */
  handledAt?: Date;
}

/** The API server for one replica. The simulation decides when each half of each call happens. */
export class SimulatedApi implements Pick<KubeApi, 'json' | 'request'> {
  /** The share of the calls that fail. */
  failureRate = 0;
  readonly #cluster: InMemoryCluster;
  readonly #random: Random;
  #calls: Call[] = [];

  constructor(cluster: InMemoryCluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
  }

  async json(request: ApiRequest): Promise<unknown> {
    return (await this.#send(request)).answer;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const { answer, handledAt } = await this.#send(request);
    const text = JSON.stringify(answer);
    // A list can also break off in the middle.
    const length = this.#random.chance(this.failureRate) ? this.#random.below(text.length) : text.length;
    const body = Readable.from([Buffer.from(text.slice(0, length))]) as ApiResponse['body'];
    return { status: 200, headers: { date: handledAt?.toUTCString() }, body };
  }

  async #send(request: ApiRequest): Promise<{ readonly answer: unknown; readonly handledAt: Date | undefined }> {
    let settle: Call['settle'] = () => {};
    const answered = new Promise<unknown>((resolve) => {
      settle = resolve;
    });
    const call: Call = { request, settle };
    this.#calls.push(call);
    const answer = await waitOrAbort(answered, request.signal);
    return { answer, handledAt: call.handledAt };
  }

  /** Takes one step of one call, if there is one. */
  step(): void {
    this.#calls = this.#calls.filter(({ request }) => !request.signal.aborted);
    if (this.#calls.length === 0) return;
    const call = this.#random.pick(this.#calls);
    if (call.answer === undefined) {
      const isFailing = this.#random.chance(this.failureRate);
      const answer = isFailing ? this.#fail() : new InProcessApi(this.#cluster).json(call.request);
      // Nothing else handles a rejection while the answer is on its way.
      answer.catch(() => {});
      call.answer = answer;
      call.handledAt = new Date();
    } else {
      this.#calls.splice(this.#calls.indexOf(call), 1);
      call.settle(call.answer);
    }
  }

  /** Breaks off every call: the replica has crashed. */
  reset(): void {
    for (const { settle } of this.#calls.splice(0)) settle(Promise.reject(new ApiUnreachable('reset')));
  }

  async #fail(): Promise<never> {
    throw this.#random.pick([
      new ApiError(500, 'InternalError', ''),
      new ApiError(429, 'TooManyRequests', '', 1_000),
      new ApiError(403, 'Forbidden', ''),
      new ApiUnreachable('reset'),
    ]);
  }
}
