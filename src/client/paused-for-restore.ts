import { PAUSED_FOR_RESTORE } from '../kube/api-paths.ts';
import { toShellWord } from './shell-word.ts';

/** @param config null unpauses the pool */
export function toPausePatch(config: string | null) {
  return { metadata: { annotations: { [PAUSED_FOR_RESTORE]: config } }, spec: { paused: config !== null } };
}

/** The words of the command that unpauses a pool which `restore` has paused. */
export function toUnpauseCommand(pool: string): readonly [readonly string[], readonly string[]] {
  const patch = toShellWord(JSON.stringify(toPausePatch(null)));
  return [
    ['oc', 'patch', 'machineconfigpool', toShellWord(pool), '--type=merge'],
    ['-p', patch],
  ];
}
