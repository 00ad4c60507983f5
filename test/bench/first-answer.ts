import { setTimeout as pause } from 'node:timers/promises';

import type { Child } from '../e2e/control-plane/child.ts';
import { answerTo, type DirectAnswer, webhookClient, type WebhookServer } from './direct-reviews.ts';

/** Between two attempts: what the figures are too high by, at most. */
const AGAIN_MS = 2;
const GIVE_UP_MS = 60_000;

/**
 * Starts a webhook, asks it directly over TLS until its answer is the right one, and ends it: milliseconds from the start. `isRight` answers
 * false where it should be asked again, and throws where the answer is wrong.
 */
export async function firstAnswer(
  server: WebhookServer,
  review: Buffer,
  isRight: (answer: DirectAnswer) => boolean,
  start: () => Pick<Child, 'stop'>,
): Promise<number> {
  const client = webhookClient(server);
  const begun = performance.now();
  const started = start();
  try {
    for (;;) {
      const answer = await answerTo(client, review).catch(() => undefined);
      const ms = performance.now() - begun;
      if (answer !== undefined && isRight(answer)) return ms;
      if (ms > GIVE_UP_MS) throw new Error(`No right answer after ${GIVE_UP_MS / 1_000} s.`);
      await pause(AGAIN_MS);
    }
  } finally {
    client.agent.destroy();
    await started.stop('SIGKILL');
  }
}
