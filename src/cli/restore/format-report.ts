import { joinWithAnd, toPrintableLine } from '../../common/printable-text.ts';
import type { ConfigReport, RestoreReport } from './restore-report.ts';
import {
  applyStyle,
  formatNext,
  type ReportFormat,
  type Style,
  type TextFormat,
  wrapText,
} from '../../client/output/text-format.ts';

/** Longer than every text of a report. */
const MAX_TEXT_LENGTH = 4_000;

export function formatRestoreReport(format: ReportFormat, report: RestoreReport): string {
  const parts = report.configs.map((config) => formatConfig(format, config));
  const [style, conclusion] = formatConclusion(report);
  parts.push(...wrapText(conclusion, format.width).map((line) => applyStyle(format, style, line)));
  parts.push(...report.advice.flatMap((advice) => formatNext(format, advice)));
  return `${parts.join('\n')}\n`;
}

function formatConfig(
  format: ReportFormat,
  { name, source, outcome, namedBy, rejection, warnings, steps }: ConfigReport,
) {
  // The name and the source can come from the disk of an untrusted node.
  const lines = [toPrintableLine(`${name} (from ${source})`, MAX_TEXT_LENGTH)];
  if (outcome === 'exists') lines.push('  exists. Nothing to do.');
  if (outcome === 'rejected' && rejection !== null) {
    lines.push(...indent(format, `Not restored (${rejection.code}): ${rejection.reason}.`));
    const width = format.width - 2;
    lines.push(...formatNext({ ...format, width }, rejection.advice).map((line) => `  ${line}`));
  }
  if (steps.length === 0) return `${lines.join('\n')}\n`;
  if (namedBy !== null) lines.push(...indent(format, `Named by ${namedBy}.`));
  for (const warning of warnings) lines.push(...indent(format, `Warning: ${warning}`));
  for (const [index, { description, done }] of steps.entries()) {
    lines.push(...indent(format, `${index + 1}. ${description}${done ? ': done' : ''}`));
  }
  return `${lines.join('\n')}\n`;
}

function indent({ width }: TextFormat, text: string): string[] {
  return wrapText(toPrintableLine(text, MAX_TEXT_LENGTH), width - 2).map((line) => `  ${line}`);
}

function formatConclusion({ ok, problem, configs, pausedPools }: RestoreReport): readonly [Style, string] {
  const has = (wanted: ConfigReport['outcome']): boolean => configs.some(({ outcome }) => outcome === wanted);
  if (problem !== null && !has('incomplete') && has('restored')) {
    const cause = 'The missing config is not the cause any more, so read the log of the machine-config-daemon there.';
    return ['red', `Restored, but not every node has recovered: ${problem}. ${cause}`];
  }
  if (problem !== null) {
    const pools = joinWithAnd(pausedPools.map(({ name }) => name));
    const phrase = pausedPools.length === 1 ? `pool ${pools} stays` : `pools ${pools} stay`;
    const note = pausedPools.length === 0 ? '' : ` Until then ${phrase} paused.`;
    return ['red', `Incomplete: ${problem}. Run the same command again to continue.${note}`];
  }
  if (has('planned')) {
    const text = 'Nothing was written: the API server accepts these writes. Run the command again with --confirm.';
    return ['magenta', text];
  }
  if (!ok) return ['red', has('restored') ? 'Not every config was restored.' : 'Nothing was written.'];
  return [
    'bold',
    has('restored')
      ? 'Restored. The operator now rolls out its own config.'
      : `Nothing to restore${configs.length === 0 ? ': no node and no pool names a config of this source' : ''}.`,
  ];
}
