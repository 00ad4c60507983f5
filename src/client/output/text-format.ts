import { stripVTControlCharacters, styleText } from 'node:util';
import { Help } from 'commander';
import { toPrintableLine } from '../../common/printable-text.ts';
import type { Advice, CommandFormatter } from './advice.ts';

export interface TextFormat {
  readonly width: number;
  readonly hasColors: boolean;
  /** Characters per row. A pipe has no limit. */
  readonly columns?: number | undefined;
  readonly isWide?: boolean;
}

export interface ReportFormat extends TextFormat {
  readonly commands: CommandFormatter;
}

/** Readable on a dark and on a white background, unlike green, yellow and dim. */
type ReadableStyle = 'bold' | 'magenta' | 'red';
export type Style = ReadableStyle | ReadableStyle[];

/** Absent unless the stream is a terminal. */
interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const stdout: Terminal = process.stdout;
const stderr: Terminal = process.stderr;
const MAX_WIDTH = 120;
const MIN_TEXT_WIDTH = 40;

/** For stdout. The text of a pipe is wrapped at the maximum. */
export function createFormat(isWide = false): TextFormat {
  const { isTTY = false, columns = MAX_WIDTH } = stdout;
  // Node.js looks at the terminal, NO_COLOR and FORCE_COLOR.
  const hasColors = styleText('bold', ' ', { stream: process.stdout }) !== ' ';
  const width = Math.min(MAX_WIDTH, Math.max(MIN_TEXT_WIDTH, columns));
  return { width, hasColors, columns: isTTY ? columns : undefined, isWide };
}

/** For stderr. Undefined unless it is a terminal. */
export function getErrorWidth(): number | undefined {
  const { isTTY = false, columns = MAX_WIDTH } = stderr;
  return isTTY ? Math.min(MAX_WIDTH, Math.max(MIN_TEXT_WIDTH, columns)) : undefined;
}

/** Characters per line of prose. A pipe has no limit, so that each line can be searched as a whole. */
export function getLineWidth({ columns, width }: TextFormat): number {
  return columns === undefined ? Number.POSITIVE_INFINITY : width;
}

/** Wraps the help of commander, too. */
const WRAPPER = Object.assign(new Help(), { minWidthToWrap: 1 });

/** Never breaks a word, so that links keep working. */
export function wrapText(text: string, width: number): string[] {
  return WRAPPER.boxWrap(toPrintableLine(text, Number.POSITIVE_INFINITY), width).split('\n');
}

export function wrapBeside(label: string, text: string, width: number): string {
  const { length } = stripVTControlCharacters(label);
  return label + wrapText(text, Math.max(width - length, MIN_TEXT_WIDTH / 2)).join(`\n${' '.repeat(length)}`);
}

/** For each advice `Next: text:` and below it the command on its own line, because users copy it. */
export function formatNext({ width, commands }: ReportFormat, ...advice: readonly (Advice | null)[]): string[] {
  const given = advice.filter((each) => each !== null);
  return given.flatMap(({ text, command }) => {
    const lines = wrapText(`Next: ${text}${command === null ? '.' : ':'}`, width);
    return command === null ? lines : [...lines, `  ${commands.toLine(command)}`];
  });
}

/** A comment above a command to copy. The command of an alternative is a comment, too. */
export function formatCommand({ width, commands }: ReportFormat, { text, command }: Advice, isAlternative = false) {
  const comment = wrapText(text, width - 4).map((line) => `  # ${line}`);
  if (command === null) return comment;
  const prefix = isAlternative ? '  # ' : '  ';
  return [...comment, prefix + commands.toLine(command)];
}

/** @param label stands before the first line, and the others are aligned with its text */
export function indent({ width }: TextFormat, text: string, label = ''): string {
  return wrapBeside(`  ${label}`, text, width);
}

export function wrapParagraph({ width }: TextFormat, text: string): string {
  return wrapText(text, width).join('\n');
}

export function applyStyle({ hasColors }: TextFormat, style: Style | undefined, text: string): string {
  if (!hasColors || style === undefined || text === '') return text;
  // By default, styleText checks stdout, but this text can go to stderr.
  return styleText(style, text, { validateStream: false });
}
