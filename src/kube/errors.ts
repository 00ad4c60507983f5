/** The API server answered, but not with success. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** The `reason` of its Status object, or an empty string. */
  readonly reason: string;
  /** Its Retry-After header in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No response, or an incomplete one: refused, reset, cut off, not trusted. */
export class ApiUnreachable extends Error {
  override readonly name = 'ApiUnreachable';
}

/** The bytes are not one complete list. Nothing that was read of it proves anything. */
export class MalformedList extends Error {
  override readonly name = 'MalformedList';
}

/** Whether the API server answered 404. For a kind, only discovery proves that it is not served: see `isServed`. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Whether the same request can succeed a moment later. After 401, 403 or 406 it cannot. */
export function isRetryable(error: unknown): boolean {
  return (
    error instanceof ApiUnreachable ||
    error instanceof MalformedList ||
    (error instanceof ApiError && (error.status === 429 || error.status >= 500))
  );
}

/** Describes an error in one line without secrets: the message of the guard's own errors, else only Node's code. */
export function describeError(error: unknown): string {
  if (error instanceof ApiError) {
    return `the API server answered ${error.status}${error.reason === '' ? '' : ` ${error.reason}`}`;
  }
  if (error instanceof ApiUnreachable) return error.message;
  if (!(error instanceof Error)) return 'unknown error';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  return error.name === 'TimeoutError' ? 'timed out' : error.name === 'AbortError' ? 'aborted' : error.message;
}
