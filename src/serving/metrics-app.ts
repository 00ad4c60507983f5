import { createHash } from 'node:crypto';
import type { Express, RequestHandler } from 'express';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { RateLimiter, ThrottledLog } from '../common/problem-log.ts';
import { NEVER_ABORTED } from '../common/wait.ts';
import { createEndpointApp, sendText } from './endpoint-app.ts';

export interface MetricsAppOptions {
  readonly metrics: { readonly scrape: () => Promise<Readonly<Record<'text' | 'contentType', string>>> };
  readonly authorizer: Pick<ScrapeAuthorizer, 'authorize'>;
  readonly log: Logger;
}

const BEARER = /^Bearer (?<token>[\w.~+/-]+=*)$/i;

export function createMetricsApp({ metrics, authorizer, log }: MetricsAppOptions): Express {
  const problems = new ThrottledLog(log);
  const authorize: RequestHandler = async (request, response, next) => {
    const token = BEARER.exec(request.headers.authorization ?? '')?.groups?.['token'];
    const address = request.socket.remoteAddress ?? 'unknown';
    try {
      const access = token === undefined ? 'unauthenticated' : await authorizer.authorize(token, address);
      if (access === 'allowed') next();
      else if (access === 'forbidden') sendText(response, 403, 'forbidden: needs the right to get /metrics');
      else if (access === 'throttled')
        sendText(response.set('retry-after', '1'), 429, 'too many requests: too many new tokens; retry later');
      else {
        response.set('www-authenticate', 'Bearer');
        sendText(response, 401, 'unauthorized: needs the bearer token of a service account');
      }
    } catch (error) {
      problems.warn('cannot authorize a scrape', { reason: describeError(error) });
      sendText(response, 503, 'unavailable: the API server did not review the token');
    }
  };
  const scrape: RequestHandler = async (_request, response) => {
    const { text, contentType } = await metrics.scrape();
    response.set('content-type', contentType).send(text);
  };
  return createEndpointApp('get', { '/metrics': [authorize, scrape] }, 'GET /metrics is here');
}

type ScrapeAccess = 'allowed' | 'unauthenticated' | 'forbidden';

interface AccessReviewStatus {
  readonly authenticated?: unknown;
  readonly user?: Readonly<Record<'username' | 'uid' | 'groups' | 'extra', unknown>>;
  readonly allowed?: unknown;
}

const REVIEW_TIMEOUT_MS = 5_000;
/** Longer than the 30 s between scrapes. A revoked token still works for this time. */
const ALLOWED_TTL_MS = 60_000;
const MAX_TOKENS = 256;
/** Limits the requests that the new tokens of an address cause: this many at once, and one per interval. */
const NEW_TOKEN_BURST = 10;
const NEW_TOKEN_INTERVAL_MS = 1_000;

/** Asks the API server whether a token may `get /metrics`, and remembers the tokens that may. */
export class ScrapeAuthorizer {
  readonly #api: Pick<KubeApi, 'json'>;
  /** Of allowed tokens. Hashed, so that a heap dump contains no token. */
  readonly #access: LRUCache<string, ScrapeAccess, string>;
  readonly #newTokens = new RateLimiter(NEW_TOKEN_BURST, NEW_TOKEN_INTERVAL_MS);

  constructor(api: Pick<KubeApi, 'json'>) {
    this.#api = api;
    this.#access = new LRUCache({
      max: MAX_TOKENS,
      ttl: ALLOWED_TTL_MS,
      ttlResolution: 0,
      perf: { now: () => performance.now() },
      // Parallel scrapes with a token share the review. A failed one keeps the token known.
      fetchMethod: async (_key, _stale, { context: token }) => await this.#reviewAccess(token),
      noDeleteOnFetchRejection: true,
    });
  }

  /** Returns `throttled` if too many new tokens arrive from the address. Tokens that are allowed have no limit. */
  async authorize(token: string, address: string): Promise<ScrapeAccess | 'throttled'> {
    const key = createHash('sha256').update(token).digest('hex');
    const isKnown = this.#access.peek(key, { allowStale: true }) !== undefined;
    if (!isKnown && !this.#newTokens.tryAcquire(address)) return 'throttled';
    const access = await this.#access.forceFetch(key, { context: token });
    if (access !== 'allowed') this.#access.delete(key);
    return access;
  }

  async #reviewAccess(token: string): Promise<ScrapeAccess> {
    const { authenticated, user } = await this.#createReview('authentication.k8s.io', 'TokenReview', { token });
    if (authenticated !== true || typeof user?.username !== 'string') return 'unauthenticated';
    const { username, uid, groups, extra } = user;
    const nonResourceAttributes = { path: '/metrics', verb: 'get' };
    const spec = { user: username, uid, groups, extra, nonResourceAttributes };
    const { allowed } = await this.#createReview('authorization.k8s.io', 'SubjectAccessReview', spec);
    return allowed === true ? 'allowed' : 'forbidden';
  }

  async #createReview(group: string, kind: string, spec: unknown): Promise<AccessReviewStatus> {
    const path = `/apis/${group}/v1/${kind.toLowerCase()}s`;
    const body = { apiVersion: `${group}/v1`, kind, spec };
    const limits = { timeoutMs: REVIEW_TIMEOUT_MS, purpose: 'tokenReviews', signal: NEVER_ABORTED } as const;
    const { status = {} } = (await this.#api.json({ method: 'POST', path, body, ...limits })) as {
      readonly status?: AccessReviewStatus;
    };
    return status;
  }
}
