import { PAUSED_FOR_MACHINES, PAUSED_FOR_RESTORE } from '../api/annotations.ts';

/** A JSON merge patch of a pool. */
type Patch = Readonly<Record<string, object>>;

/** The merge patch that pauses a pool for the restore of a config. */
export function toPausePatch(config: string, machines: number | undefined): Patch {
  const annotations = { [PAUSED_FOR_RESTORE]: config, [PAUSED_FOR_MACHINES]: machines?.toString() ?? null };
  return { metadata: { annotations }, spec: { paused: true } };
}

/** The merge patch that ends the pause of {@link toPausePatch}. */
export function toUnpausePatch(): Patch {
  return {
    metadata: { annotations: { [PAUSED_FOR_RESTORE]: null, [PAUSED_FOR_MACHINES]: null } },
    spec: { paused: false },
  };
}

/** The command with which a person ends the pause of a restore. */
export function toUnpauseCommand(pool: string): readonly string[] {
  return ['oc', 'patch', 'machineconfigpool', pool, '--type=merge', '-p', JSON.stringify(toUnpausePatch())];
}
