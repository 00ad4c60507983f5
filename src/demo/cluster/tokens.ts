import { randomBytes } from 'node:crypto';
import { unauthorized } from './status-error.ts';
import { type User, userNamed } from './user.ts';

const ANONYMOUS: User = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Bearer tokens and whose they are. */
export class Tokens {
  readonly #users = new Map<string, User>();
  readonly #anonymousAllowed: boolean;

  /** @param anonymousAllowed may requests come without a token? A wrong token is refused in any case. */
  constructor(anonymousAllowed: boolean) {
    this.#anonymousAllowed = anonymousAllowed;
  }

  /** A new token for a user. Earlier ones of the same user stay valid until {@link revoke}. */
  issue(user: User | string): string {
    const token = randomBytes(24).toString('base64url');
    this.#users.set(token, typeof user === 'string' ? userNamed(user) : user);
    return token;
  }

  /** Makes a token worthless. */
  revoke(token: string): void {
    this.#users.delete(token);
  }

  /** Whose request is this? Throws a 401. */
  userOf(authorization: string | undefined): User {
    const token = /^Bearer (?<token>.+)$/i.exec(authorization ?? '')?.groups?.['token'];
    if (token === undefined && authorization === undefined && this.#anonymousAllowed) return ANONYMOUS;
    const user = this.#users.get(token ?? '');
    if (user === undefined) throw unauthorized();
    return user;
  }
}
