/** The latest of the known times. Undefined if none is known. */
export function findLatest(times: readonly (Date | undefined)[]): Date | undefined {
  return times.reduce((latest, time) => (time === undefined || (latest && latest > time) ? latest : time), undefined);
}

/** The earliest of the known times. Undefined if none is known. */
export function findEarliest(times: readonly (Date | undefined)[]): Date | undefined {
  return times.reduce((first, time) => (time === undefined || (first && first < time) ? first : time), undefined);
}
