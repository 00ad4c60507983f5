import type { Logger } from 'pino';
import { sleep } from '../kube/wait.ts';
import type { Expiry, ServingCertificate } from './serving-certificate.ts';

/** What {@link ExpiryLogger} needs. */
export interface ExpiryLoggerOptions {
  readonly certificate: Pick<ServingCertificate, 'expiries'>;
  readonly log: Logger;
  readonly now?: () => Date;
  /** How often to look, in milliseconds. */
  readonly everyMs?: number;
}

const DAY_MS = 86_400_000;
/** Days before the end at which it is said, once each, and once more when the end has come. */
const THRESHOLDS = [0, 7, 30] as const;
const EVERY_MS = 3_600_000;

const ADVICE: Readonly<Record<Expiry['certificate'], string>> = {
  authority: 'exchange it with `machineconfig-guard certs rotate`',
  serving: 'whoever writes its files has to renew it',
};

/** Says in the log that a certificate is about to expire which nothing in this process renews. */
export class ExpiryLogger {
  readonly #options: ExpiryLoggerOptions;
  /** The last threshold that was said of each, with the end it was about: a renewed one begins anew. */
  readonly #said = new Map<Expiry['certificate'], { notAfter: number; threshold: number }>();

  constructor(options: ExpiryLoggerOptions) {
    this.#options = options;
  }

  /** Looks again and again until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.check();
      await sleep(this.#options.everyMs ?? EVERY_MS, signal).catch(() => {});
    }
  }

  /** Looks once. */
  check(): void {
    const { certificate, now = () => new Date() } = this.#options;
    for (const expiry of certificate.expiries()) if (!expiry.isRenewedHere) this.#consider(expiry, now());
  }

  #consider({ certificate, notAfter }: Expiry, now: Date): void {
    const days = (notAfter.getTime() - now.getTime()) / DAY_MS;
    const threshold = THRESHOLDS.find((one) => days <= one);
    const said = this.#said.get(certificate);
    if (threshold === undefined) return;
    if (said !== undefined && said.notAfter === notAfter.getTime() && said.threshold <= threshold) return;
    this.#said.set(certificate, { notAfter: notAfter.getTime(), threshold });
    const what = certificate === 'authority' ? 'the authority of the serving certificates' : 'the serving certificate';
    const when = days <= 0 ? 'expired' : 'expires';
    const left = days <= 0 ? 'calls fail' : `${Math.floor(days)} days are left`;
    const line = `${what} ${when} at ${notAfter.toISOString()}, ${left}: ${ADVICE[certificate]}`;
    this.#options.log.warn({ certificate, notAfter: notAfter.toISOString(), daysLeft: Math.floor(days) }, line);
  }
}
