import { type Kind, qualified } from './kinds.ts';

/** The body of every answer that is not a success: a `Status` of the API's own. */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: unknown;
  readonly code?: number;
}

/** What the API server answers instead of doing what it was asked. Texts and codes as in k8s.io/apimachinery, api/errors. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly code: number;
  readonly reason: string;
  readonly details: unknown;

  constructor(code: number, reason: string, message: string, details?: unknown) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /** As the body of the answer. */
  get status(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** The answer to a request that was done and has no object to show. */
export function success(details: unknown): Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

/** The request itself is wrong. */
export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message);
}

/** No token, or none that the server knows. */
export function unauthorized(): StatusError {
  return new StatusError(401, 'Unauthorized', 'Unauthorized');
}

/** There is no object of this name. */
export function notFound(kind: Kind, name: string): StatusError {
  return new StatusError(404, 'NotFound', `${qualified(kind)} "${name}" not found`, detailsOf(kind, name));
}

/** There is an object of this name already. */
export function alreadyExists(kind: Kind, name: string): StatusError {
  return new StatusError(409, 'AlreadyExists', `${qualified(kind)} "${name}" already exists`, detailsOf(kind, name));
}

/** Somebody else was faster, or a precondition does not hold. */
export function conflict(kind: Kind, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(kind)} "${name}": ${why}`;
  return new StatusError(409, 'Conflict', message, detailsOf(kind, name));
}

/** The object does not pass validation. */
export function invalid(kind: Kind, name: string, why: string): StatusError {
  return new StatusError(
    422,
    'Invalid',
    `${kind.kind}${kind.group === '' ? '' : `.${kind.group}`} "${name}" is invalid: ${why}`,
    {
      ...detailsOf(kind, name),
      kind: kind.kind,
    },
  );
}

/** The version to list or watch from is no longer known. */
export function expired(version: number, oldest: number): StatusError {
  return new StatusError(410, 'Expired', `too old resource version: ${version} (${oldest})`);
}

/** A list from a version that the server has not reached yet. */
export function tooLarge(version: number, current: number): StatusError {
  const message = `Timeout: Too large resource version: ${version}, current: ${current}`;
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  return new StatusError(504, 'Timeout', message, { causes, retryAfterSeconds: 1 });
}

/** Something that a caller cannot do anything about. */
export function internalError(message: string): StatusError {
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
}

function detailsOf(kind: Kind, name: string): Record<string, string> {
  return { ...(name === '' ? {} : { name }), ...(kind.group === '' ? {} : { group: kind.group }), kind: kind.resource };
}
