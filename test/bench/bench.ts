import type { Binaries } from '../e2e/control-plane/binaries.ts';
import type { Table } from './table.ts';

export interface BenchContext {
  /** Run a few small cases. They show that the bench works, and their figures mean nothing. */
  readonly isQuick: boolean;
  readonly binaries: Binaries;
  /** Prints a line of progress. */
  readonly log: (line: string) => void;
}

/**
 * The exports of a file in test/bench/benches, which is named after the bench. Every bench measures its baseline in the
 * same run.
 */
export interface Bench {
  readonly question: string;
  /** @throws Error if an answer that it measures is wrong */
  readonly run: (context: BenchContext) => Promise<readonly Table[]>;
}
