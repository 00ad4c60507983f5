/** Allows the deletion of its MachineConfig. The value is the reason and must not be empty. */
export const ALLOW_DELETION_ANNOTATION = 'machineconfig-guard.io/allow-deletion';

/** `restore` sets it in the write that pauses a pool. Its value is the config that is being restored. */
export const PAUSED_FOR_RESTORE = 'machineconfig-guard.io/paused-for-restore';
/** Beside it: how many control plane machines that restore waits for, if a person has said it. */
export const PAUSED_FOR_MACHINES = 'machineconfig-guard.io/paused-for-machines';
