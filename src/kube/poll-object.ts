import path from 'node:path';
import { repeat } from '../common/wait.ts';
import { type ApiObject, MalformedObject } from './api-object.ts';
import type { KubeApi } from './api.ts';
import { assertNotServed } from './discovery.ts';
import { isAbsent, isNotFound } from './errors.ts';

export interface PollObjectOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly path: string;
  readonly kind: string;
  readonly intervalMs: number;
  /** Called after each read; undefined if the object does not exist. The next read waits for it. */
  readonly onRead: (object: ApiObject | undefined) => void | Promise<void>;
  readonly onFailure: (error: unknown) => void | Promise<void>;
}

/**
 * Reads one object again and again until the signal aborts. Never rejects. For an object that must be current within
 * seconds, this is simpler than a watch, which can be silent without an error.
 */
export async function pollObject(options: PollObjectOptions, signal: AbortSignal): Promise<void> {
  const { intervalMs, onRead, onFailure } = options;
  const read = async (): Promise<void> => {
    try {
      await onRead(await readObject(options, signal));
    } catch (error) {
      if (!signal.aborted) await onFailure(error);
    }
  };
  await repeat(intervalMs, signal, read, onFailure);
}

/** A misconfigured proxy can also answer 404, or 200 with something else. Neither means that the object is absent. */
async function readObject(
  { api, path: objectPath, kind }: PollObjectOptions,
  signal: AbortSignal,
): Promise<ApiObject | undefined> {
  try {
    const object = (await api.json({ path: objectPath, signal })) as { readonly kind?: unknown } | null;
    if (object?.kind !== kind) throw new MalformedObject(`the API server returned no ${kind}`);
    return object as ApiObject;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (!isNotFound(error)) throw error;
    await assertNotServed(api, [path.posix.dirname(objectPath)], signal);
    return undefined;
  }
}
