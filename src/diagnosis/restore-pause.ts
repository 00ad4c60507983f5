import { shell, type ShellCommand, type Verbatim, verbatim } from './shell-command.ts';
import { PAUSED_FOR_MACHINES, PAUSED_FOR_RESTORE } from '../api/annotations.ts';

/** A JSON merge patch of a pool. */
type Patch = Readonly<Record<string, object>>;

/**
 * The merge patch that pauses a pool for the restore of a config.
 * @param machines the number of control plane machines that a person has given. The run that continues waits for them
 */
export function toPausePatch(config: string, machines: number | undefined): Patch {
  const annotations = { [PAUSED_FOR_RESTORE]: config, [PAUSED_FOR_MACHINES]: machines?.toString() };
  return { metadata: { annotations }, spec: { paused: true } };
}

/** The merge patch that ends the pause of {@link toPausePatch}. */
export function toUnpausePatch(): Patch {
  return {
    metadata: { annotations: { [PAUSED_FOR_RESTORE]: null, [PAUSED_FOR_MACHINES]: null } },
    spec: { paused: false },
  };
}

/** The command with which a person ends the pause of a restore. Undefined if no pool can have the name. */
export function toUnpauseCommand(pool: string): ShellCommand | undefined {
  return patchPool(pool, toUnpausePatch());
}

/** The command that patches a pool. Undefined if no pool can have the name. */
export function patchPool(pool: string, patch: object, ...flags: readonly Verbatim[]): ShellCommand | undefined {
  return shell`oc patch machineconfigpool ${pool} ${flags} --type=merge -p ${verbatim(JSON.stringify(patch))}`;
}

/** The command that removes what a restore has noted at a pool that somebody has unpaused meanwhile. */
export function toRemoveMarkCommand(pool: string): ShellCommand | undefined {
  const annotations = [PAUSED_FOR_RESTORE, PAUSED_FOR_MACHINES].map((key) => verbatim(`${key}-`));
  return shell`oc annotate machineconfigpool ${pool} ${annotations}`;
}
