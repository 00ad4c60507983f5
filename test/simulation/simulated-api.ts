import { Readable } from 'node:stream';

import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import type { ApiObject } from '../../src/kube/api-object.ts';
import { type ApiRequest, type ApiResponse, type KubeApi } from '../../src/kube/api.ts';
import type { ClusterModel } from './cluster-model.ts';
import type { Random } from './random.ts';

/** A call on its way. First it is served, from what is committed then; later, perhaps much later, its answer arrives. */
interface Call {
  readonly path: string;
  readonly isList: boolean;
  readonly settle: (answer: Answer) => void;
  served: Answer | undefined;
}

type Answer = { readonly objects: readonly ApiObject[] } | { readonly error: Error };

/** The API server as one replica reaches it: every step of every call happens when the scheduler says so. */
export class SimulatedApi {
  readonly #model: ClusterModel;
  readonly #random: Random;
  readonly #calls: Call[] = [];
  /** Share of the calls that go wrong. */
  faults = 0;

  constructor(model: ClusterModel, random: Random) {
    this.#model = model;
    this.#random = random;
  }

  /** What the guard's own code is given: the part of ClusterApi that reading needs. */
  get client(): KubeApi {
    const client: Pick<KubeApi, 'request' | 'json'> = {
      request: async (request) => await this.#request(request),
      json: async (request) => {
        const [object] = await this.#ask(request, false);
        if (object === undefined) throw new ApiError(404, 'NotFound', `${request.path} not found`);
        return object;
      },
    };
    return client as KubeApi;
  }

  /** Does one step of one call, and says which; undefined where none is under way. */
  step(): string | undefined {
    const index = this.#random.below(this.#calls.length);
    const call = this.#calls[index];
    if (call === undefined) return undefined;
    if (call.served === undefined) {
      call.served = this.#random.chance(this.faults) ? { error: this.#fault() } : { objects: this.#objects(call) };
      return `serve ${call.path}`;
    }
    this.#calls.splice(index, 1);
    call.settle(call.served);
    return `answer ${call.path} ${'error' in call.served ? call.served.error.message : ''}`;
  }

  /** Every call breaks off: the replica has died. */
  reset(): void {
    for (const { settle } of this.#calls.splice(0)) settle({ error: new ApiUnreachable('reset') });
  }

  async #request(request: ApiRequest): Promise<ApiResponse> {
    const items = await this.#ask(request, true);
    const list = JSON.stringify({ kind: 'List', metadata: { resourceVersion: '1' }, items });
    // An answer may also break off in the middle.
    const cut = this.#random.chance(this.faults) ? this.#random.below(list.length) : list.length;
    const body = Readable.from([Buffer.from(list.slice(0, cut))]) as ApiResponse['body'];
    return { status: 200, headers: {}, body };
  }

  async #ask({ path, signal }: ApiRequest, isList: boolean): Promise<readonly ApiObject[]> {
    signal.throwIfAborted();
    const outcome = await new Promise<Answer>((resolve) => {
      const settle = (answer: Answer): void => {
        signal.removeEventListener('abort', onAbort);
        resolve(answer);
      };
      const call: Call = { path, isList, settle, served: undefined };
      const onAbort = (): void => {
        const index = this.#calls.indexOf(call);
        if (index !== -1) this.#calls.splice(index, 1);
        settle({ error: signal.reason as Error });
      };
      this.#calls.push(call);
      signal.addEventListener('abort', onAbort);
    });
    if ('error' in outcome) throw outcome.error;
    return outcome.objects;
  }

  #objects({ path, isList }: Call): readonly ApiObject[] {
    if (isList) return this.#model.objects(path);
    const end = path.lastIndexOf('/');
    const name = path.slice(end + 1);
    return this.#model.objects(path.slice(0, end)).filter(({ metadata }) => metadata?.name === name);
  }

  #fault(): Error {
    const faults = [
      new ApiError(500, 'InternalError', 'etcdserver: leader changed'),
      new ApiError(429, 'TooManyRequests', 'too many requests', 1_000),
      new ApiError(403, 'Forbidden', 'forbidden'),
      new ApiUnreachable('connection reset'),
    ];
    return this.#random.pick(faults) ?? new ApiUnreachable('away');
  }
}
