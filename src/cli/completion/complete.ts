import type { Command, Option } from 'commander';
import { CODE_DESCRIPTIONS } from '../../decision/codes.ts';
import { readMissingNames, readRenderedNames, readRoles } from '../../inspect/cluster-reader.ts';
import type { KubeApi } from '../../kube/api.ts';
import { waitOrAbort } from '../../common/wait.ts';
import { type ClusterFlags, createKubeApi } from '../cluster-options.ts';

/** The name of the command that prints candidates, as in kubectl. */
export const COMPLETE_COMMAND = '__complete';

interface Candidate {
  readonly text: string;
  readonly description?: string;
}

interface Completion {
  readonly candidates: readonly Candidate[];
  readonly hasFiles?: boolean | undefined;
}

type NameReader = (api: KubeApi, signal: AbortSignal) => Promise<readonly string[]>;

const NOTHING: Completion = { candidates: [] };
const FILES: Completion = { candidates: [], hasFiles: true };
const HELP_FLAG: Candidate = { text: '--help', description: 'display help for command' };
const FILE_PLACEHOLDER = /<(?:file|dir|source)>/;
const FLAG_WITH_VALUE = /^(?<flag>--[^=]+)=(?<value>.*)$/;
/** A person waits for the answer. */
const CLUSTER_TIMEOUT_MS = 2_000;

/** Where the cursor is: the words before it were read. */
interface Position {
  readonly command: Command;
  readonly operands: readonly string[];
  /** The flag whose value is next. */
  readonly pending: Option | undefined;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Formats the candidates for the last word in the format of cobra.
 *
 * @param words the words after the name of the program, up to the cursor
 */
export async function formatCompletion(root: Command, words: readonly string[]): Promise<string> {
  const word = words.at(-1) ?? '';
  const { candidates, hasFiles = false } = await complete(root, locate(root, words.slice(0, -1)), word);
  const lines = candidates
    .filter(({ text }) => text.startsWith(word))
    .map(({ text, description }) => (description === undefined ? text : `${text}\t${description}`));
  return [...lines, hasFiles ? ':0' : ':4', ''].join('\n');
}

function locate(root: Command, words: readonly string[]): Position {
  let command = root;
  let pending: Option | undefined;
  const operands: string[] = [];
  const values: Record<string, string> = {};
  for (const word of words) {
    const { flag = word, value } = FLAG_WITH_VALUE.exec(word)?.groups ?? {};
    const child = operands.length === 0 ? findCommand(command, word) : undefined;
    if (pending !== undefined) {
      values[pending.attributeName()] = word;
      pending = undefined;
    } else if (word.startsWith('-')) {
      const option = findOption(command, flag);
      if (option !== undefined && value !== undefined) values[option.attributeName()] = value;
      else if (option?.required === true) pending = option;
    } else if (child !== undefined) command = child;
    else operands.push(word);
  }
  return { command, operands, pending, values };
}

async function complete(root: Command, position: Position, word: string): Promise<Completion> {
  const { command, operands, pending, values } = position;
  if (pending !== undefined) return await completeValue(pending, values);
  const { flag, value } = FLAG_WITH_VALUE.exec(word)?.groups ?? {};
  if (flag !== undefined && value !== undefined) {
    const option = findOption(command, flag);
    if (option === undefined) return NOTHING;
    const { candidates, hasFiles } = await completeValue(option, values);
    return { hasFiles, candidates: candidates.map(({ text }) => ({ text: `${flag}=${text}` })) };
  }
  if (word.startsWith('-')) return { candidates: [...command.options.flatMap(toFlag), HELP_FLAG] };
  if (command.name() === 'help') return { candidates: listCommands(locate(root, operands).command) };
  const subcommands = operands.length === 0 ? listCommands(command) : [];
  const { candidates, hasFiles } = await completeArgument(position, word);
  return { candidates: [...subcommands, ...candidates], hasFiles };
}

async function completeValue(option: Option, values: Position['values']): Promise<Completion> {
  if (option.argChoices !== undefined) return { candidates: option.argChoices.map((text) => ({ text })) };
  if (option.name() === 'context') return { candidates: await readContextNames(values) };
  if (option.name() === 'role') return { candidates: await readNames(values, readRoles) };
  return FILE_PLACEHOLDER.test(option.flags) ? FILES : NOTHING;
}

async function completeArgument({ command, operands, values }: Position, word: string): Promise<Completion> {
  const { registeredArguments } = command;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[operands.length] ?? (last?.variadic === true ? last : undefined);
  if (argument?.argChoices !== undefined) return { candidates: argument.argChoices.map((text) => ({ text })) };
  if (argument?.name() === 'code') {
    const codes = Object.entries(CODE_DESCRIPTIONS);
    return { candidates: codes.map(([text, description]) => ({ text, description })) };
  }
  if (argument?.name() !== 'config') return NOTHING;
  const names = await readNames(values, command.name() === 'restore' ? readMissingNames : readRenderedNames);
  const unused = names.filter(({ text }) => !operands.includes(text));
  // The commands complete a name without its prefix, too.
  const short = word === '' ? [] : unused.map(({ text }) => ({ text: text.replace(/^rendered-/, '') }));
  return { candidates: [...unused, ...short] };
}

/** Without a cluster there are no candidates. */
async function readNames(values: Position['values'], read: NameReader): Promise<Candidate[]> {
  const { kubeconfig, context, as } = values;
  const flags: ClusterFlags = {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(as === undefined ? {} : { as }),
  };
  try {
    const api = await createKubeApi(flags, 'machineconfig-guard/completion');
    try {
      const signal = AbortSignal.timeout(CLUSTER_TIMEOUT_MS);
      return (await waitOrAbort(read(api, signal), signal)).map((text) => ({ text }));
    } finally {
      api.close();
    }
  } catch {
    return [];
  }
}

async function readContextNames({ kubeconfig }: Position['values']): Promise<Candidate[]> {
  const { readContexts } = await import('../kubeconfig.ts');
  try {
    return readContexts({ kubeconfig }).names.map((text) => ({ text }));
  } catch {
    return [];
  }
}

function findCommand(command: Command, name: string): Command | undefined {
  return command.commands.find((candidate) => candidate.name() === name);
}

function findOption(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => flag === long || flag === short);
}

function listCommands(command: Command): Candidate[] {
  return command.commands.map((child) => ({ text: child.name(), description: child.description() }));
}

function toFlag({ long, description, hidden }: Option): Candidate[] {
  return long === undefined || hidden ? [] : [{ text: long, description }];
}
