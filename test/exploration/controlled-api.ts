import { Readable } from 'node:stream';
import { waitOrAbort } from '../../src/common/wait.ts';
import type { ApiRequest, ApiResponse, KubeApi } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { parseResource, type TwoConfigCluster } from './two-config-cluster.ts';
import { BUILDS, POOLS } from '../../src/mco/resources.ts';

const FAULTS_OF_GETS = ['is unreachable', 'is forbidden'] as const;
/** An old list is older than what the index has seen: nothing names A in it. */
const FAULTS_OF_LISTS = [...FAULTS_OF_GETS, 'breaks off', 'is old'] as const;
export type Fault = (typeof FAULTS_OF_LISTS)[number];

interface Answer {
  readonly text: string;
  readonly error?: Error;
  readonly servedAt: Date;
  /** The list of builds, which the guard requests with that of pools. */
  readonly builds?: Answer;
}

/** A call of the guard. An API server serves it at one moment, and the guard receives the answer at a later one. */
export interface Call {
  readonly name: string;
  readonly resource: string;
  /** The objects or resources that the answer contains. */
  readonly reads: readonly string[];
  readonly faults: readonly Fault[];
  readonly request: ApiRequest;
  readonly answered: Promise<Answer>;
  readonly settle: (answer: Answer) => void;
  /** Present once an API server has served the call. */
  answer?: Answer;
}

/** The API servers for the guard's lists and GETs. The scheduler decides when they serve and when they answer. */
export class ControlledApi implements Pick<KubeApi, 'json' | 'request'> {
  readonly #cluster: TwoConfigCluster;
  readonly #observe: (event: string) => void;
  readonly #suffix: string;
  #calls: readonly Call[] = [];
  #callCount = 0;

  /**
   * @param observe is called with everything that the guard sends and receives
   * @param suffix of the names of the calls
   */
  constructor(cluster: TwoConfigCluster, observe: (event: string) => void, suffix: string) {
    this.#cluster = cluster;
    this.#observe = observe;
    this.#suffix = suffix;
  }

  get calls(): readonly Call[] {
    return this.#calls.filter(({ request }) => !request.signal.aborted);
  }

  async json(request: ApiRequest): Promise<unknown> {
    return JSON.parse((await this.#send(request)).text) as unknown;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const { text, servedAt } = await this.#send(request);
    const body = Readable.from([Buffer.from(text)]) as ApiResponse['body'];
    return { headers: { date: servedAt.toUTCString() }, body };
  }

  /** An API server serves the call. */
  async serve(call: Call): Promise<void> {
    call.answer = await this.#answer(call);
  }

  /** The guard receives the answer. */
  async deliver(call: Call, fault?: Fault): Promise<void> {
    const served = call.answer ?? (await this.#answer(call));
    const answer = fault === undefined ? served : fail(served, fault);
    this.#observe(JSON.stringify([call.name, answer, answer.error?.name]));
    this.#calls = this.#calls.filter((other) => other !== call);
    call.settle(answer);
  }

  async #send(request: ApiRequest): Promise<Answer> {
    const resource = parseResource(request);
    const sent = resource === BUILDS.name ? this.#listBuilds(request) : this.#call(request, resource);
    const answer = await waitOrAbort(sent, request.signal);
    if (answer.error !== undefined) throw answer.error;
    return answer;
  }

  async #call(request: ApiRequest, resource: string): Promise<Answer> {
    const object = request.path.split(`/${resource}/`)[1];
    this.#callCount += 1;
    const what = object === undefined ? `list of ${resource}` : `GET of ${object}`;
    const name = `call ${this.#callCount}${this.#suffix} (${what})`;
    this.#observe(`sent ${name}`);
    const listed = resource === POOLS.name ? [POOLS.name, BUILDS.name] : [resource];
    const reads = object === undefined ? listed : [object];
    let settle: Call['settle'] = () => {};
    const answered = new Promise<Answer>((resolve) => {
      settle = resolve;
    });
    const faults = object === undefined ? FAULTS_OF_LISTS : FAULTS_OF_GETS;
    this.#calls = [...this.calls, { name, resource, reads, faults, request, answered, settle }];
    return await answered;
  }

  async #listBuilds(request: ApiRequest): Promise<Answer> {
    const pools = await this.calls.find(({ resource }) => resource === POOLS.name)?.answered;
    return pools?.builds ?? (await this.#read(request));
  }

  async #answer({ request, reads }: Call): Promise<Answer> {
    const builds = reads.includes(BUILDS.name)
      ? { builds: await this.#read({ ...request, path: BUILDS.paths[0] }) }
      : {};
    return { ...(await this.#read(request)), ...builds };
  }

  async #read(request: ApiRequest): Promise<Answer> {
    const servedAt = new Date();
    try {
      return { text: JSON.stringify(await this.#cluster.answer(request)), servedAt };
    } catch (error) {
      return { text: '', error: error as Error, servedAt };
    }
  }
}

function fail(answer: Answer, fault: Fault): Answer {
  if (fault === 'breaks off') return { ...answer, text: answer.text.slice(0, answer.text.length / 2) };
  if (fault === 'is old') {
    const text = answer.text.replaceAll('a'.repeat(32), 'b'.repeat(32));
    return { ...answer, text: text.replace(/"resourceVersion":"\d+"/, '"resourceVersion":"1"') };
  }
  const error = fault === 'is forbidden' ? new ApiError(403, 'Forbidden', '') : new ApiUnreachable('reset');
  return { ...answer, error };
}
