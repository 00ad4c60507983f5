import type { Logger } from 'pino';
import { sleep } from '../kube/wait.ts';
import type { Expiry, ServingCertificate } from './serving-certificate.ts';

const DAY_MS = 86_400_000;
const EXPIRES_SOON_DAYS = 30;

const NAME = { authority: 'the authority of the serving certificates', serving: 'the serving certificate' };
const ADVICE = {
  authority: 'rotate it with `machineconfig-guard certs rotate`',
  serving: 'renew it at its issuer',
};

/**
 * Warns daily, from 30 days before the expiry of a certificate that this process does not renew. Never
 * rejects.
 */
export async function logExpiriesDaily(
  certificate: Pick<ServingCertificate, 'expiries'>,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    logExpiries(certificate.expiries(), log, new Date());
    await sleep(DAY_MS, signal);
  }
}

export function logExpiries(expiries: readonly Expiry[], log: Logger, now: Date): void {
  for (const { certificate, notAfter, isRenewedHere } of expiries) {
    const days = (notAfter.getTime() - now.getTime()) / DAY_MS;
    if (isRenewedHere || days > EXPIRES_SOON_DAYS) continue;
    const daysLeft = Math.floor(days);
    const date = notAfter.toISOString();
    const fact = days <= 0 ? `expired at ${date}, calls fail` : `expires at ${date}, in ${daysLeft} days`;
    log.warn({ certificate, notAfter: date, daysLeft }, `${NAME[certificate]} ${fact}: ${ADVICE[certificate]}`);
  }
}
