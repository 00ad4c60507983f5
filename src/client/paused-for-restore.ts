import { PAUSED_FOR_RESTORE } from '../kube/api-paths.ts';

/** @param config null unpauses the pool */
export function toPausePatch(config: string | null) {
  return { metadata: { annotations: { [PAUSED_FOR_RESTORE]: config } }, spec: { paused: config !== null } };
}

/** The lines of the command that unpauses a pool which `restore` has paused. */
export function toUnpauseCommand(pool: string): readonly [readonly string[], readonly string[]] {
  const patch = JSON.stringify(toPausePatch(null));
  return [
    ['oc', 'patch', 'machineconfigpool', pool, '--type=merge'],
    ['-p', patch],
  ];
}
