import { toShellWord } from './shell-word.ts';
import type { ClusterFlags } from './cluster-options.ts';

type ConnectionFlags = Pick<ClusterFlags, 'context' | 'kubeconfig'>;

/** In an advice. */
const COMMAND = /(?<![-\w./])(?:oc|machineconfig-guard (?:check|restore|verify))(?![-\w/]|\.\w)/g;

/** Adds `--kubeconfig` and `--context`, because a printed command must not act on another cluster. */
export function addFlagsToCommand(command: string, flags: ConnectionFlags): string {
  return addFlagsToWords(command.split(' '), flags).join(' ');
}

/** Like {@link addFlagsToCommand}, for a command that was split into words. */
function addFlagsToWords(words: readonly string[], flags: ConnectionFlags): readonly string[] {
  return [...words.slice(0, 1), ...toWords(flags), ...words.slice(1)];
}

/** Like {@link addFlagsToCommand}, for each command in a text. */
export function addFlagsToAdvice(advice: string, flags: ConnectionFlags): string {
  return advice.replaceAll(COMMAND, (command) => [command, ...toWords(flags)].join(' '));
}

function toWords({ context, kubeconfig }: ConnectionFlags): string[] {
  return [
    ...(kubeconfig === undefined ? [] : ['--kubeconfig', toShellWord(kubeconfig)]),
    ...(context === undefined ? [] : ['--context', toShellWord(context)]),
  ];
}
