import { type ApiObject, parseTime } from './api-object.ts';

/**
 * Returns when the managers that own a field last wrote the object. The API server sets these times by its own clock.
 *
 * @param path keys of `fieldsV1`, such as `['f:spec', 'f:paused']`
 * @returns undefined if no manager owns the field
 */
export function findWriteTime({ metadata }: ApiObject, path: readonly string[], subresource = ''): Date | undefined {
  const entries = Array.isArray(metadata?.managedFields) ? (metadata.managedFields as unknown[]) : [];
  const times = entries.flatMap((entry) => {
    const { time, subresource: written = '', fieldsV1 } = (entry ?? {}) as Record<string, unknown>;
    const date = parseTime(time);
    return date !== undefined && written === subresource && hasPath(fieldsV1, path) ? [date] : [];
  });
  return times.toSorted((a, b) => b.getTime() - a.getTime())[0];
}

function hasPath(fields: unknown, path: readonly string[]): boolean {
  let value = fields;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return true;
}
