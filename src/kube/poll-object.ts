import type { ApiObject } from './api-object.ts';
import type { KubeApi } from './api.ts';
import { orUndefined } from './errors.ts';
import { sleep, withTimeout } from '../common/wait.ts';

export interface PollObjectOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly path: string;
  /** Milliseconds between two reads. */
  readonly intervalMs: () => number;
  /** Called after each read; undefined if the object does not exist. The next read waits for it. */
  readonly onRead: (object: ApiObject | undefined) => void | Promise<void>;
  readonly onFailure: (error: unknown) => void | Promise<void>;
}

const REQUEST_TIMEOUT_MS = 5_000;

/**
 * Reads one object again and again until the signal aborts. Never rejects. For an object that must be current within
 * seconds, this is simpler than a watch, which can be silent without an error.
 */
export async function pollObject(options: PollObjectOptions, signal: AbortSignal): Promise<void> {
  const { api, path, intervalMs, onRead, onFailure } = options;
  while (!signal.aborted) {
    try {
      const read = async (limited: AbortSignal) => await orUndefined(api.json({ path, signal: limited }));
      await onRead((await withTimeout(REQUEST_TIMEOUT_MS, signal, read)) as ApiObject | undefined);
    } catch (error) {
      if (!signal.aborted) await onFailure(error);
    }
    await sleep(intervalMs(), signal);
  }
}
