import { Argument, Command, InvalidArgumentError } from 'commander';
import { type Code, CODE_DESCRIPTIONS } from '../../decision/verdict.ts';
import { formatTable } from '../../client/output/table.ts';
import { createTableFormat } from '../../client/output/text-format.ts';
import { findNearestName } from '../../status/nearest-name.ts';
import { readCodesPage } from './codes-page.ts';

const CODES = Object.keys(CODE_DESCRIPTIONS) as readonly Code[];
const FENCE = /^```.*\n/gm;
/** Also within the page, where the text of a link is the name of a section. */
const LINK = /\[([^\]]*)\]\([^)]*\)/g;
const BOLD = /\*\*([^*]*)\*\*/g;

export function createExplainCommand(): Command {
  const command = new Command('explain')
    .description('Explain a code of the guard and what to do.')
    .addArgument(new Argument('[code]', 'a code, such as MCG_IN_USE').argParser(parseCode))
    .addHelpText(
      'after',
      `
The text is the page docs/codes.md of this version. Without a code, the command
lists all codes. It needs neither a cluster nor the internet.
Exit codes: 0 printed, 2 unknown code.

Examples:
  machineconfig-guard explain
  machineconfig-guard explain MCG_IN_USE`,
    )
    .action((code: Code | undefined) => {
      command.configureOutput().writeOut?.(code === undefined ? formatCodes() : formatSection(code));
    });
  return command;
}

/** Accepts lower case, and the code without its prefix. */
function parseCode(value: string): Code {
  const word = value.toUpperCase().replaceAll('-', '_');
  const name = word.startsWith('MCG_') ? word : `MCG_${word}`;
  const code = CODES.find((candidate) => candidate === name);
  if (code !== undefined) return code;
  const nearest = findNearestName(
    name,
    CODES.map((candidate) => candidate.toLowerCase()),
  );
  throw new InvalidArgumentError(
    nearest === undefined ? `The codes are ${CODES.join(', ')}.` : `Did you mean ${nearest.toUpperCase()}?`,
  );
}

function formatCodes(): string {
  const rows = CODES.map((code) => [{ text: code }, { text: CODE_DESCRIPTIONS[code] }]);
  return formatTable(createTableFormat(), [{ header: 'CODE' }, { header: 'MEANING' }], rows);
}

/** A terminal has no links, so their texts remain. */
function formatSection(code: Code): string {
  const section = readCodesPage()
    .split(/^## /m)
    .find((candidate) => candidate.startsWith(`${code}\n`));
  const text = (section ?? '').replaceAll(FENCE, '').replaceAll(LINK, '$1').replaceAll(BOLD, '$1');
  return `${text.trim()}\n`;
}
