import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { KubeApi } from '../kube/api.ts';
import { RateLimiter } from '../kube/rate-limiter.ts';

export type ScrapeAccess = 'allowed' | 'unauthenticated' | 'forbidden';

interface CachedAccess {
  readonly access: ScrapeAccess;
  readonly expiresAt: number;
}

interface AccessReviewStatus {
  readonly authenticated?: unknown;
  readonly user?: Readonly<Record<'username' | 'uid' | 'groups' | 'extra', unknown>>;
  readonly allowed?: unknown;
}

const REVIEW_TIMEOUT_MS = 5_000;
/** Longer than the 30 s between scrapes. A revoked token still works for this time. */
const ALLOWED_TTL_MS = 60_000;
/** Short, so that new RBAC works soon. */
const DENIED_TTL_MS = 5_000;
const MAX_TOKENS = 256;
/** Limits the requests that unknown tokens cause: this many at once, and one per interval. */
const UNKNOWN_TOKEN_BURST = 10;
const UNKNOWN_TOKEN_INTERVAL_MS = 1_000;

/** Asks the API server whether a token may `get /metrics`, and caches the answer. */
export class ScrapeAuthorizer {
  readonly #api: Pick<KubeApi, 'json'>;
  readonly #now: () => number;
  /** Hashed, so that a heap dump contains no token. Expired entries tell which tokens were allowed. */
  readonly #accessByTokenHash = new LRUCache<string, CachedAccess>({ max: MAX_TOKENS });
  readonly #pendingByTokenHash = new Map<string, Promise<ScrapeAccess>>();
  readonly #unknownTokens: RateLimiter;

  /** @param now returns milliseconds of a monotonic clock */
  constructor(api: Pick<KubeApi, 'json'>, now: () => number = () => performance.now()) {
    this.#api = api;
    this.#now = now;
    this.#unknownTokens = new RateLimiter(UNKNOWN_TOKEN_BURST, UNKNOWN_TOKEN_INTERVAL_MS, now);
  }

  /**
   * Returns `throttled` if too many unknown tokens arrive. Tokens that were allowed before have no limit.
   * Rejects with the errors of {@link KubeApi}.
   */
  async authorize(token: string): Promise<ScrapeAccess | 'throttled'> {
    const key = createHash('sha256').update(token).digest('hex');
    const cached = this.#accessByTokenHash.get(key);
    if (cached !== undefined && this.#now() < cached.expiresAt) return cached.access;
    const pending = this.#pendingByTokenHash.get(key);
    if (pending !== undefined) return await pending;
    if (cached?.access !== 'allowed' && !this.#unknownTokens.tryAcquire()) return 'throttled';
    const review = this.#reviewAndCache(token, key);
    this.#pendingByTokenHash.set(key, review);
    try {
      return await review;
    } finally {
      this.#pendingByTokenHash.delete(key);
    }
  }

  async #reviewAndCache(token: string, key: string): Promise<ScrapeAccess> {
    const access = await this.#reviewAccess(token);
    const ttlMs = access === 'allowed' ? ALLOWED_TTL_MS : DENIED_TTL_MS;
    this.#accessByTokenHash.set(key, { access, expiresAt: this.#now() + ttlMs });
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
    const signal = AbortSignal.timeout(REVIEW_TIMEOUT_MS);
    const review = (await this.#api.json({ method: 'POST', path, body, signal })) as {
      status?: AccessReviewStatus;
    };
    return review.status ?? {};
  }
}
