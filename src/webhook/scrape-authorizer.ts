import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { KubeApi } from '../kube/api.ts';
import { RateLimiter } from '../common/logs.ts';
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

interface TokenReview {
  readonly access: Promise<ScrapeAccess>;
  dueAt: number;
}

/** Asks the API server whether a token may `get /metrics`, and remembers the tokens that may. */
export class ScrapeAuthorizer {
  readonly #api: Pick<KubeApi, 'json'>;
  readonly #now: () => number;
  /** Of allowed tokens, and those that have no answer yet. Hashed, so that a heap dump contains no token. */
  readonly #reviews = new LRUCache<string, TokenReview>({ max: MAX_TOKENS });
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
    const known = this.#reviews.get(key);
    if (known !== undefined && this.#now() < known.dueAt) return await known.access;
    if (known === undefined && !this.#newTokens.tryAcquire(address)) return 'throttled';
    const review: TokenReview = { access: this.#reviewAccess(token), dueAt: Number.POSITIVE_INFINITY };
    this.#reviews.set(key, review);
    try {
      const access = await review.access;
      review.dueAt = this.#now() + ALLOWED_TTL_MS;
      if (access !== 'allowed') this.#reviews.delete(key);
      return access;
    } catch (error) {
      if (known === undefined) this.#reviews.delete(key);
      else this.#reviews.set(key, known);
      throw error;
    }
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
