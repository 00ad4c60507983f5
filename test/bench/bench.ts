import type { Binaries } from '../e2e/control-plane/binaries.ts';

/** A column of a {@link Table}. */
export interface Column {
  /** The cell's name in JSON. */
  readonly key: string;
  readonly heading: string;
  /** Places after the point, of a number. */
  readonly digits?: number;
}

/** What a bench found: the same rows are written as JSON and as Markdown. */
export interface Table {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
  /** How to read it: one sentence each. */
  readonly notes: readonly string[];
}

export interface BenchContext {
  /** Few and small: to see whether it works, not to be quoted. */
  readonly quick: boolean;
  readonly binaries: Binaries;
  /** Tells the person who waits what is being done. */
  readonly log: (line: string) => void;
}

/**
 * One question with its figures. A file of test/bench/benches is a bench: its name is the file's, this is its default export. It
 * starts and stops what it needs, measures its baseline in the same run, and throws when an answer that it times is wrong.
 */
export interface Bench {
  /** One sentence. */
  readonly question: string;
  readonly run: (context: BenchContext) => Promise<readonly Table[]>;
}
