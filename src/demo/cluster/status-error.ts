import type { Kind } from './kinds.ts';

const STATUS = { kind: 'Status', apiVersion: 'v1', metadata: {} };

export const SUCCESS = { ...STATUS, status: 'Success' };

/** Has the codes, reasons and messages of k8s.io/apimachinery, api/errors. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }

  get status(): object {
    return { ...STATUS, status: 'Failure', message: this.message, reason: this.reason, code: this.code };
  }
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message);
}

export function notFound(kind: Kind, name: string): StatusError {
  return new StatusError(404, 'NotFound', `${qualify(kind)} "${name}" not found`);
}

export function alreadyExists(kind: Kind, name: string): StatusError {
  return new StatusError(409, 'AlreadyExists', `${qualify(kind)} "${name}" already exists`);
}

export function conflict(kind: Kind, name: string, why: string): StatusError {
  return new StatusError(409, 'Conflict', `Operation cannot be fulfilled on ${qualify(kind)} "${name}": ${why}`);
}

export function invalid(message: string): StatusError {
  return new StatusError(422, 'Invalid', message);
}

export function internalError(message: string): StatusError {
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`);
}

/** Such as `machineconfigs.machineconfiguration.openshift.io`. */
function qualify({ group, resource }: Kind): string {
  return group === '' ? resource : `${resource}.${group}`;
}
