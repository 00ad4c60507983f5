import type { Logger } from 'pino';
import { repeat } from '../common/wait.ts';
import type { Expiry, ServingCertificate } from './serving-certificate.ts';

const DAY_MS = 86_400_000;
const EXPIRES_SOON_DAYS = 30;

const CERTIFICATE_NAMES = {
  authority: 'the authority of the serving certificates',
  serving: 'the serving certificate',
};
const RENEWAL_ADVICE = {
  authority: 'rotate it with `machineconfig-guard render --from-cluster --new-authority`',
  serving: 'renew it at its issuer',
};

/** Warns daily if a certificate that this process does not renew expires within 30 days. Never rejects. */
export async function logExpiriesDaily(
  certificate: Pick<ServingCertificate, 'expiries'>,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  await repeat(DAY_MS, signal, () => logExpiries(certificate.expiries(), log, new Date()));
}

export function logExpiries(expiries: readonly Expiry[], log: Logger, now: Date): void {
  for (const { certificate, notAfter, isRenewedByGuard } of expiries) {
    const days = (notAfter.getTime() - now.getTime()) / DAY_MS;
    if (isRenewedByGuard || days > EXPIRES_SOON_DAYS) continue;
    const daysLeft = Math.floor(days);
    const date = notAfter.toISOString();
    const fact =
      days <= 0 ? `expired at ${date}, the API server's calls fail` : `expires at ${date}, in ${daysLeft} days`;
    const message = `${CERTIFICATE_NAMES[certificate]} ${fact}: ${RENEWAL_ADVICE[certificate]}`;
    log.warn({ certificate, notAfter: date, daysLeft }, message);
  }
}
