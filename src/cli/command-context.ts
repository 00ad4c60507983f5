import { toShellWord } from '../inspect/shell-word.ts';
import type { ClusterFlags } from './cluster-options.ts';

/** In an advice. */
const COMMAND = /(?<![-\w./])(?:oc|machineconfig-guard (?:restore|verify))(?![-\w./])/g;

/** Adds `--context`, because a printed command must not act on the cluster of the current context. */
export function addContextToCommand(command: string, flags: ClusterFlags): string {
  const words = command.split(' ');
  return [...words.slice(0, 1), ...toWords(flags), ...words.slice(1)].join(' ');
}

/** Like {@link addContextToCommand}, for each command in a text. */
export function addContextToAdvice(advice: string, flags: ClusterFlags): string {
  return advice.replaceAll(COMMAND, (command) => [command, ...toWords(flags)].join(' '));
}

function toWords({ context }: ClusterFlags): string[] {
  return context === undefined ? [] : ['--context', toShellWord(context)];
}
