/** RFC 3339 without fractions, as in `metav1.Time`. */
export function toSeconds(time: Date): string {
  return `${time.toISOString().slice(0, -5)}Z`;
}
