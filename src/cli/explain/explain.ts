import { Argument, Command, InvalidArgumentError } from 'commander';
import { CODE_DESCRIPTIONS, type Code } from '../../decision/codes.ts';
import { formatTable } from '../table.ts';
import {
  applyStyle,
  createTableFormat,
  createTextFormat,
  getLineWidth,
  type TableFormat,
  type TextFormat,
  wrapText,
} from '../text-format.ts';
import { readCodesPage } from './codes-page.ts';

const CODES = Object.keys(CODE_DESCRIPTIONS) as readonly Code[];
const FENCE = /^```/;
/** Also within the page, where the text of a link is the name of a section. */
const LINK = /\[([^\]]*)\]\([^)]*\)/g;
const BOLD = /\*\*([^*]*)\*\*/g;
const LIST_ITEM = /^- /;
/** Between two columns. */
const GAP = 2;

export function createExplainCommand(): Command {
  const command = new Command('explain')
    .description('Explain a code of the guard and what to do.')
    .addArgument(new Argument('[code]', 'a code, such as MCG_IN_USE').argParser(parseCode))
    .addHelpText(
      'after',
      `
The text is the page docs/codes.md of this version. Without a code, the command
lists all codes. It needs neither a cluster nor the internet.

Examples:
  machineconfig-guard explain
  machineconfig-guard explain MCG_IN_USE`,
    )
    .action((code: Code | undefined) => {
      const text =
        code === undefined
          ? formatCodes(createTableFormat(process.stdout))
          : formatSection(createTextFormat(process.stdout, process.env), code);
      command.configureOutput().writeOut?.(text);
    });
  return command;
}

/** Accepts lower case, and the code without its prefix. */
function parseCode(value: string): Code {
  const name = value.toUpperCase().replaceAll('-', '_');
  const code = CODES.find((candidate) => candidate === name || candidate === `MCG_${name}`);
  if (code === undefined) throw new InvalidArgumentError(`The codes are ${CODES.join(', ')}.`);
  return code;
}

function formatCodes(format: TableFormat): string {
  const codeWidth = Math.max(...CODES.map(({ length }) => length)) + GAP;
  const rows = CODES.flatMap((code) =>
    wrapText(CODE_DESCRIPTIONS[code], getLineWidth(format) - codeWidth).map((line, index) => [
      { text: index === 0 ? code : '' },
      { text: line },
    ]),
  );
  return formatTable(format, [{ header: 'CODE' }, { header: 'MEANING' }], rows);
}

function formatSection(format: TextFormat, code: Code): string {
  const section = readCodesPage()
    .split(/^## /m)
    .find((candidate) => candidate.startsWith(`${code}\n`));
  const body = (section ?? '').slice(code.length).trim();
  const blocks = body.split('\n\n').map((block) => formatBlock(format, block));
  return `${applyStyle(format, 'bold', code)}\n\n${blocks.join('\n\n')}\n`;
}

/** A terminal has no links, so their texts remain. Commands are indented and never wrapped. */
function formatBlock(format: TextFormat, block: string): string {
  const lines = block.split('\n');
  if (FENCE.test(block))
    return lines
      .slice(1, -1)
      .map((line) => `  ${line}`)
      .join('\n');
  const paragraphs: string[] = [];
  for (const line of lines) {
    if (paragraphs.length === 0 || LIST_ITEM.test(line)) paragraphs.push(line);
    else paragraphs.push(`${paragraphs.pop()} ${line.trim()}`);
  }
  return paragraphs.map((paragraph) => formatParagraph(format, paragraph)).join('\n');
}

function formatParagraph({ width }: TextFormat, paragraph: string): string {
  const indent = LIST_ITEM.test(paragraph) ? '  ' : '';
  const text = paragraph.replaceAll(LINK, '$1').replaceAll(BOLD, '$1');
  return wrapText(text, width - indent.length).join(`\n${indent}`);
}
