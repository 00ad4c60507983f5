/** A time by both clocks of this machine. */
export interface Moment {
  /** Milliseconds of the monotonic clock, which stands still while a virtual machine sleeps. */
  readonly ms: number;
  /** Of the wall clock, which can be wrong, and be set. */
  readonly date: Date;
}

/** Returns the present time. */
export function readClocks(): Moment {
  return { ms: performance.now(), date: new Date() };
}

/** Returns the milliseconds since a moment, by the clock that has counted more. */
export function measureAge({ ms, date }: Moment): number {
  return Math.max(performance.now() - ms, Date.now() - date.getTime());
}
