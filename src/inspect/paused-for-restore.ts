import { toShellWord } from './shell-word.ts';

/** `restore` sets it in the write that pauses a pool. Its value is the config that is being restored. */
export const PAUSED_FOR_RESTORE = 'machineconfig-guard.io/paused-for-restore';

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
