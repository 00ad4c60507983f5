import type { Logger } from 'pino';
import { sleep } from '../kube/wait.ts';
import type { Expiry, ServingCertificate } from './serving-certificate.ts';

export interface ExpiryLoggerOptions {
  readonly certificate: Pick<ServingCertificate, 'expiries'>;
  readonly log: Logger;
  readonly now?: () => Date;
}

const DAY_MS = 86_400_000;
const CHECK_INTERVAL_MS = 3_600_000;
const THRESHOLD_DAYS = [0, 7, 30] as const;

const NAME = {
  authority: 'the authority of the serving certificates',
  serving: 'the serving certificate',
} as const;
const ADVICE = {
  authority: 'exchange it with `machineconfig-guard certs rotate`',
  serving: 'whoever writes its files has to renew it',
} as const;

/** Warns 30 and 7 days before the expiry of a certificate that this process does not renew, and at its expiry. */
export class ExpiryLogger {
  readonly #options: ExpiryLoggerOptions;
  /** The last warning about each certificate. A renewed certificate has another end. */
  readonly #lastWarnings = new Map<Expiry['certificate'], { readonly notAfter: number; readonly threshold: number }>();

  constructor(options: ExpiryLoggerOptions) {
    this.#options = options;
  }

  /** Checks every hour until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.check();
      await sleep(CHECK_INTERVAL_MS, signal).catch(() => {});
    }
  }

  check(): void {
    for (const expiry of this.#options.certificate.expiries()) if (!expiry.isRenewedHere) this.#warnIfNear(expiry);
  }

  #warnIfNear({ certificate, notAfter }: Expiry): void {
    const { log, now = () => new Date() } = this.#options;
    const end = notAfter.getTime();
    const days = (end - now().getTime()) / DAY_MS;
    const threshold = THRESHOLD_DAYS.find((one) => days <= one);
    const last = this.#lastWarnings.get(certificate);
    if (threshold === undefined || (last?.notAfter === end && last.threshold <= threshold)) return;
    this.#lastWarnings.set(certificate, { notAfter: end, threshold });
    const daysLeft = Math.floor(days);
    const date = notAfter.toISOString();
    const fact = days <= 0 ? `expired at ${date}, calls fail` : `expires at ${date}, ${daysLeft} days are left`;
    log.warn({ certificate, notAfter: date, daysLeft }, `${NAME[certificate]} ${fact}: ${ADVICE[certificate]}`);
  }
}
