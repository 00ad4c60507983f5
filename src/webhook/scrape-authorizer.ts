import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { KubeApi } from '../kube/api.ts';

export type ScrapeAccess = 'allowed' | 'unauthenticated' | 'forbidden';

interface AccessReviewStatus {
  readonly authenticated?: unknown;
  readonly user?: Readonly<Record<'username' | 'uid' | 'groups' | 'extra', unknown>>;
  readonly allowed?: unknown;
}

const REVIEW_TIMEOUT_MS = 5_000;
/** Longer than the 30 s between scrapes. A revoked token still works for this time. */
const ALLOWED_TTL_MS = 60_000;
/** Short, so that new RBAC works soon. It still limits the calls that wrong tokens cause. */
const DENIED_TTL_MS = 5_000;
const MAX_TOKENS = 256;

/** Asks the API server whether a token may `get /metrics`, and caches the answer. */
export class ScrapeAuthorizer {
  readonly #api: Pick<KubeApi, 'json'>;
  /** Hashed, so that a heap dump contains no token. */
  readonly #accessByTokenHash: LRUCache<string, ScrapeAccess>;

  /** @param now returns milliseconds above 0, because lru-cache never expires an entry of time 0 */
  constructor(api: Pick<KubeApi, 'json'>, now: () => number = () => performance.now()) {
    this.#api = api;
    const options = { max: MAX_TOKENS, ttl: DENIED_TTL_MS, ttlResolution: 0, perf: { now } };
    this.#accessByTokenHash = new LRUCache(options);
  }

  /** Rejects with the errors of {@link KubeApi}. */
  async authorize(token: string): Promise<ScrapeAccess> {
    const key = createHash('sha256').update(token).digest('hex');
    const cachedAccess = this.#accessByTokenHash.get(key);
    if (cachedAccess !== undefined) return cachedAccess;
    const access = await this.#reviewAccess(token);
    this.#accessByTokenHash.set(key, access, { ttl: access === 'allowed' ? ALLOWED_TTL_MS : DENIED_TTL_MS });
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
