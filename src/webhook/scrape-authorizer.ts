import { createHash } from 'node:crypto';
import type { KubeApi } from '../kube/api.ts';

/** May the bearer of this token read the metrics? */
export type ScrapeAccess = 'allowed' | 'unauthenticated' | 'forbidden';

/** What {@link ScrapeAuthorizer} needs. */
export interface ScrapeAuthorizerOptions {
  readonly api: Pick<KubeApi, 'json'>;
  /** The current time in milliseconds since 1970. */
  readonly now?: () => number;
}

const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const REVIEW_MS = 5_000;
/** A scraper comes every 30 s; a token that was withdrawn is good for this much longer. */
const ALLOWED_MS = 60_000;
/** A right that was just granted works soon, and wrong tokens cannot become a flood of reviews. */
const REFUSED_MS = 5_000;
const REMEMBERED_MAX = 256;

/** Asks the API server who a token belongs to and whether they may `get /metrics`, and remembers the answer for a while. */
export class ScrapeAuthorizer {
  readonly #api: Pick<KubeApi, 'json'>;
  readonly #now: () => number;
  /** By hash, so that a heap dump holds no token. */
  readonly #remembered = new Map<string, { access: ScrapeAccess; until: number }>();

  constructor({ api, now = Date.now }: ScrapeAuthorizerOptions) {
    this.#api = api;
    this.#now = now;
  }

  /** Throws what ClusterApi throws where the API server cannot say. */
  async authorize(token: string): Promise<ScrapeAccess> {
    const key = createHash('sha256').update(token).digest('hex');
    const known = this.#remembered.get(key);
    if (known !== undefined && this.#now() < known.until) return known.access;
    const access = await this.#ask(token);
    this.#remembered.delete(key);
    this.#remembered.set(key, { access, until: this.#now() + (access === 'allowed' ? ALLOWED_MS : REFUSED_MS) });
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size <= REMEMBERED_MAX) break;
      this.#remembered.delete(oldest);
    }
    return access;
  }

  async #ask(token: string): Promise<ScrapeAccess> {
    const review = (await this.#post(TOKEN_REVIEWS, 'authentication.k8s.io/v1', 'TokenReview', { token })) as {
      status?: {
        authenticated?: unknown;
        user?: { username?: unknown; uid?: unknown; groups?: unknown; extra?: unknown };
      };
    };
    const { authenticated, user } = review.status ?? {};
    if (authenticated !== true || typeof user?.username !== 'string') return 'unauthenticated';
    const answer = (await this.#post(ACCESS_REVIEWS, 'authorization.k8s.io/v1', 'SubjectAccessReview', {
      user: user.username,
      uid: user.uid,
      groups: user.groups,
      extra: user.extra,
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
    })) as { status?: { allowed?: unknown } };
    return answer.status?.allowed === true ? 'allowed' : 'forbidden';
  }

  async #post(path: string, apiVersion: string, kind: string, spec: unknown): Promise<unknown> {
    const signal = AbortSignal.timeout(REVIEW_MS);
    return await this.#api.json({ method: 'POST', path, body: { apiVersion, kind, spec }, signal });
  }
}
