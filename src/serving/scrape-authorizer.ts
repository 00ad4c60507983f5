import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { RateLimiter } from '../common/rate-limiter.ts';
import { NEVER_ABORTED } from '../common/wait.ts';
import type { KubeApi, Purpose } from '../kube/api.ts';

type ScrapeAccess = 'allowed' | 'unauthenticated' | 'forbidden';

interface AccessReviewStatus {
  readonly authenticated?: unknown;
  readonly user?: Readonly<Record<'username' | 'uid' | 'groups' | 'extra', unknown>>;
  readonly allowed?: unknown;
}

/** Any client of the metrics can cause them. */
const TOKEN_REVIEWS: Purpose = { name: 'token reviews', maxConnections: 4 };
/** Longer than the 30 s between scrapes. A revoked token still works for this time. */
export const ALLOWED_TTL_MS = 60_000;
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
    const { status = {} } = (await this.#api.json({
      method: 'POST',
      path,
      body,
      purpose: TOKEN_REVIEWS,
      signal: NEVER_ABORTED,
    })) as {
      readonly status?: AccessReviewStatus;
    };
    return status;
  }
}
