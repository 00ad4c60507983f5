import { join } from 'node:path';
import { Child } from '../../control-plane/child.ts';
import { ProcessReaper } from '../../control-plane/process-reaper.ts';
import { pause } from '../../control-plane/until.ts';
import { log } from '../../support/runner.ts';
import { findOperator, OPERATOR_VARIABLE, selectOperator } from '../operator-binaries.ts';
import { createDisk } from './disk.ts';
import { DISK_ENVIRONMENT, enterDisk, findRhcos } from './machine-programs.ts';

// A test run that ends only by SIGKILL. usage: killed-run.ts DIRECTORY
const directory = process.argv[2] ?? '';
const binaries = await findOperator(selectOperator(OPERATOR_VARIABLE, process.env[OPERATOR_VARIABLE]), log);
const disk = join(directory, 'disk');
const daemon = join(binaries, 'machine-config-daemon');
await createDisk(disk, { rhcos: await findRhcos(), daemon, kubeconfig: '{}' });
// Without the config of a first boot it retries for ever.
const [command, args] = enterDisk(disk, [
  'machine-config-daemon',
  'firstboot-complete-machineconfig',
  '--root-mount=/',
]);
const reaper = new ProcessReaper(directory);
const program = new Child({ command, args, logFile: join(directory, 'log'), reaper, env: DISK_ENVIRONMENT });
while (program.isRunning) await pause(1_000);
