import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { KubeApi } from '../kube/api.ts';
import { RateLimiter } from '../common/rate-limiter.ts';
import { NEVER_ABORTED } from '../common/wait.ts';

export type ScrapeAccess = 'allowed' | 'unauthenticated' | 'forbidden';

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
  readonly #now: () => number;
  /** When to review an allowed token again. Hashed, so that a heap dump contains no token. */
  readonly #allowedUntil = new LRUCache<string, number>({ max: MAX_TOKENS });
  readonly #pendingByTokenHash = new Map<string, Promise<ScrapeAccess>>();
  /** By address. */
  readonly #newTokens: RateLimiter;

  /** @param now returns milliseconds of a monotonic clock */
  constructor(api: Pick<KubeApi, 'json'>, now: () => number = () => performance.now()) {
    this.#api = api;
    this.#now = now;
    this.#newTokens = new RateLimiter(NEW_TOKEN_BURST, NEW_TOKEN_INTERVAL_MS, now);
  }

  /**
   * Returns `throttled` if too many new tokens arrive from the address. Tokens that are allowed have no limit.
   * Rejects with the errors of {@link KubeApi}.
   */
  async authorize(token: string, address: string): Promise<ScrapeAccess | 'throttled'> {
    const key = createHash('sha256').update(token).digest('hex');
    const allowedUntil = this.#allowedUntil.get(key);
    if (allowedUntil !== undefined && this.#now() < allowedUntil) return 'allowed';
    const pending = this.#pendingByTokenHash.get(key);
    if (pending !== undefined) return await pending;
    if (allowedUntil === undefined && !this.#newTokens.tryAcquire(address)) return 'throttled';
    const review = this.#reviewAndRemember(token, key);
    this.#pendingByTokenHash.set(key, review);
    try {
      return await review;
    } finally {
      this.#pendingByTokenHash.delete(key);
    }
  }

  async #reviewAndRemember(token: string, key: string): Promise<ScrapeAccess> {
    const access = await this.#reviewAccess(token);
    if (access === 'allowed') this.#allowedUntil.set(key, this.#now() + ALLOWED_TTL_MS);
    else this.#allowedUntil.delete(key);
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
    const limits = { timeoutMs: REVIEW_TIMEOUT_MS, signal: NEVER_ABORTED };
    const { status = {} } = (await this.#api.json({ method: 'POST', path, body, ...limits })) as {
      readonly status?: AccessReviewStatus;
    };
    return status;
  }
}
