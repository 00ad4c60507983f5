const HOUR_MS = 3_600_000;

const DAY_MS = 24 * HOUR_MS;

/**
 * How far a new certificate's notBefore lies in the past. While a cluster is installed, hosts trust their hardware clock until the
 * first NTP answer, and one that was left on local time but is read as UTC is wrong by up to +14 h (Kiribati) or -12 h (Baker
 * Island). The issuer may be as far ahead as the API server that checks the certificate is behind: 26 h.
 */
export const BACKDATE_MS = (14 + 12) * HOUR_MS;

/** Ten years, the life of an authority by default. Nothing made here has to outlive it. */
export const MAX_DAYS = 3650;

/** From when until when a certificate is valid. */
export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/**
 * The validity of a certificate that is issued at `now` for `days` days: back-dated by {@link BACKDATE_MS}, and never outside
 * `within`, the validity of its issuer. Throws a RangeError unless `days` is a whole number from 1 to {@link MAX_DAYS}.
 */
export function computeValidity(now: Date, days: number, within?: Validity): Validity {
  if (!Number.isInteger(days) || days < 1 || days > MAX_DAYS) {
    throw new RangeError(`a certificate is valid for a whole number of days from 1 to ${MAX_DAYS}, not ${days}`);
  }
  const notBefore = now.getTime() - BACKDATE_MS;
  const notAfter = now.getTime() + days * DAY_MS;
  return {
    notBefore: new Date(Math.max(notBefore, within?.notBefore.getTime() ?? notBefore)),
    notAfter: new Date(Math.min(notAfter, within?.notAfter.getTime() ?? notAfter)),
  };
}
