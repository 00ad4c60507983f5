import { CliError } from '../../client/exit.ts';
import { type TextFormat, wrapText } from '../../client/output/text-format.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import type { Ending, StepReport, StepState } from './step-run.ts';

const STATE_TEXTS: Readonly<Record<StepState, string>> = {
  planned: '',
  done: ': done',
  unnecessary: ': no longer necessary',
  failed: ': stopped here',
  notReached: ': not done',
};
/** Longer than every text of a report. */
export const MAX_TEXT_LENGTH = 4_000;

/** Numbered lines with the state of each step. */
export function formatSteps(format: TextFormat, steps: readonly StepReport[]): string[] {
  return steps.flatMap(({ description, state }, index) =>
    indent(format, `${index + 1}. ${description}${STATE_TEXTS[state]}`),
  );
}

export function indent({ width }: TextFormat, text: string): string[] {
  return wrapText(toPrintableLine(text, MAX_TEXT_LENGTH), width - 2).map((line) => `  ${line}`);
}

/** Ends a command after its report, with the exit code of the ending. */
export function throwUnlessComplete({ exitCode, defect }: Ending): void {
  if (defect !== undefined) throw defect;
  if (exitCode !== 0) throw new CliError('', exitCode);
}
