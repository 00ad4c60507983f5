const DURATION = /^(?:\d+(?:\.\d+)?(?:h|ms|m|s))+$/;
const DURATION_PART = /(?<value>\d+(?:\.\d+)?)(?<unit>h|ms|m|s)/g;
const UNIT_MS: Record<string, number> = {
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
};

/** Formats milliseconds as a Go duration without fractions (`1h30m`). */
export function formatDuration(ms: number): string {
  const [h, m, s, rest] = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1_000) % 60, ms % 1_000].map(Math.floor);
  const parts = { h, m, s, ms: rest };
  const text = Object.entries(parts).map(([unit, value = 0]) => (value > 0 ? `${value}${unit}` : ''));
  return text.join('') || '0s';
}

/** Parses a Go duration (`1m30s`), but no unit below `ms`. Returns milliseconds, or undefined if it is invalid. */
export function parseDuration(text: string): number | undefined {
  if (text.length > 32 || !DURATION.test(text)) return undefined;
  let ms = 0;
  for (const { groups } of text.matchAll(DURATION_PART)) {
    ms += Number(groups?.['value']) * (UNIT_MS[groups?.['unit'] ?? ''] ?? 0);
  }
  return ms;
}

/** RFC 3339 without fractions, as in `metav1.Time`. */
export function toSeconds(time: Date): string {
  return `${time.toISOString().slice(0, -5)}Z`;
}
