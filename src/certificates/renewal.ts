import type { X509Certificate } from 'node:crypto';
import type { Validity } from './validity.ts';

/** Whether a certificate should be replaced now, why (a phrase for the log), and the moment from which it should be. */
export interface Renewal {
  readonly isDue: boolean;
  readonly reason: string;
  readonly at: Date;
}

/** From when until when `certificate` is valid. (`validFromDate` exists from Node 22.10 on only.) */
export function readValidity(certificate: X509Certificate): Validity {
  return { notBefore: new Date(certificate.validFrom), notAfter: new Date(certificate.validTo) };
}

/**
 * Whether `certificate` is to be renewed: once two thirds of its life have passed (the share cert-manager uses for its own serving
 * certificates, pkg/server/tls/authority), or when it is not valid at `now` at all. One that lies in the future is due as well:
 * the clock was set back since it was made, and a new one would be valid.
 */
export function needsRenewal(certificate: X509Certificate, now: Date): Renewal {
  const { notBefore, notAfter } = readValidity(certificate);
  const at = new Date(notBefore.getTime() + ((notAfter.getTime() - notBefore.getTime()) * 2) / 3);
  if (now < notBefore) return { isDue: true, reason: `it is not valid before ${notBefore.toISOString()}`, at };
  if (now > notAfter) return { isDue: true, reason: `it expired at ${notAfter.toISOString()}`, at };
  if (now >= at) return { isDue: true, reason: `two thirds of its life passed at ${at.toISOString()}`, at };
  return { isDue: false, reason: `two thirds of its life will have passed at ${at.toISOString()}`, at };
}
