/** `9s`, `2m05s`, `1h00m05s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${pad(seconds % 60)}s`;
  return `${Math.floor(seconds / 3_600)}h${pad(Math.floor(seconds / 60) % 60)}m${pad(seconds % 60)}s`;
}

/** One unit, unlike kubectl (`5m30s`): `45s`, `12m`, `30h`, `250d`. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 2 * 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3_600) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
