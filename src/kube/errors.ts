import { isTimeout } from '../common/wait.ts';

/** The API server answered with a status that is not a success. `retryAfterMs` is from its Retry-After. */
export class ApiError extends Error {
  readonly status: number;
  /** The `reason` of its Status object, or an empty string. */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** There is no complete response. The cause is the error of the connection, or a CredentialsError. */
export class ApiUnreachable extends Error {}

/** The response is not one complete list. The items that were read must not be used. */
export class MalformedList extends Error {}

/** The cluster serves a kind only in versions that this program cannot read. */
export class UnsupportedVersion extends Error {}

/** Whether the API server answered with this status. */
export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}

/** Whether the API server answered 404. Only discovery proves that a kind is not served: see `assertNotServed`. */
export function isNotFound(error: unknown): boolean {
  return hasStatus(error, 404);
}

/** Whether the API server says that the object does not exist. A misconfigured proxy can also answer 404. */
export function isAbsent(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.reason === 'NotFound';
}

/** Awaits a response. A 404 becomes undefined. */
export async function orUndefined<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whether the same request can succeed later without a change of rights, objects or configuration. */
export function isRetryable(error: unknown): boolean {
  return (
    error instanceof ApiUnreachable ||
    error instanceof MalformedList ||
    isTimeout(error) ||
    // A load balancer sends 408 when it closes an idle connection, and a request can receive it.
    (error instanceof ApiError && (error.status === 408 || error.status === 429 || error.status >= 500))
  );
}

/** Describes an error in one line: its status, its code, or else its message. Omits the text of a response. */
export function describeError(error: unknown): string {
  if (error instanceof ApiError) {
    return `the API server answered ${error.status}${error.reason === '' ? '' : ` ${error.reason}`}`;
  }
  if (error instanceof ApiUnreachable) return error.message;
  if (!(error instanceof Error)) return 'unknown error';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  return isTimeout(error) ? 'timed out' : error.message;
}
