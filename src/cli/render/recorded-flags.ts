import { Command, CommanderError, Option } from 'commander';
import { parseHold } from '../../client/option-parsers.ts';
import { MODES } from '../../decision/settings.ts';
import type { InstallationOptions } from '../../install/installation.ts';

type OmittedFlags = 'image' | 'authority' | 'previousAuthority' | 'kubernetesVersion' | 'namespaceAnnotations';
type RecordedFlagName = Exclude<keyof InstallationOptions, OmittedFlags> | 'tls';
/** Undefined means that the flag has no value. */
export type FlagValue = string | boolean | undefined;
export type FlagValues = Partial<Readonly<Record<RecordedFlagName, FlagValue>>>;

/** On the namespace of the guard. */
export const RENDER_FLAGS_ANNOTATION = 'machineconfig-guard.io/render-flags';

/** The flags that an upgrade must repeat. */
export const RECORDED_FLAGS: readonly Option[] = [
  new Option('--profile <profile>', 'what the API server does while the guard is down')
    .choices(['fail-closed', 'fail-open-with-floor'])
    .default('fail-closed'),
  new Option('--tls <source>', "issuer of the serving certificates: a generated authority or OpenShift's service CA")
    .choices(['generated', 'service-ca'])
    .default('generated'),
  new Option(
    '--mode <mode>',
    'mode of the MachineConfigGuard that the guard creates; an existing one keeps its mode (default: Enforce)',
  ).choices(MODES),
  new Option(
    '--hold <duration>',
    'like --mode: how long to hold unused configs after their pool last changed, such as 24h for bare metal; ' +
      '0s is off (default: 2h)',
  ).argParser(parseHold),
  new Option('--single-node', 'run one replica, for a cluster with one control-plane node'),
  new Option('--host-network', 'run the pods on the host network, ports 9843 to 9845, reachable during bootstrap'),
  new Option(
    '--no-machineconfig-access',
    'do not let the guard read MachineConfigs; it then finds no dangling references',
  ),
  new Option(
    '--open-network',
    'open the webhook port to all addresses, for API servers that are not on the host network of the nodes',
  ),
  new Option(
    '--reference-policy',
    'deny that a node or a pool names a text that no rendered MachineConfig can have (OpenShift 4.17 or newer)',
  ),
];

/** Adds each flag, and for a flag without a value the opposite that takes it back. */
export function addRecordedFlags(command: Command): void {
  for (const option of RECORDED_FLAGS) command.addOption(option);
  for (const { long } of RECORDED_FLAGS.filter((option) => !option.required)) {
    command.option(getOpposite(long ?? ''), `with --from-cluster: take back ${long}`);
  }
}

function getOpposite(flag: string): string {
  return flag.startsWith('--no-') ? flag.replace('--no-', '--') : flag.replace('--', '--no-');
}

/** Of the flags that differ from their default, or have one. */
export function formatFlags(values: FlagValues): string {
  return RECORDED_FLAGS.flatMap((option) => {
    const value = values[getName(option)];
    if (option.required) return value === undefined ? [] : [`${option.long}=${String(value)}`];
    return value === !option.negate ? [option.long] : [];
  }).join(' ');
}

export function getName(option: Option): RecordedFlagName {
  return option.attributeName() as RecordedFlagName;
}

/** @throws RangeError if this version does not know a flag or its value */
export function parseFlags(text: string): FlagValues {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  for (const option of RECORDED_FLAGS) command.addOption(option);
  const absent = Object.fromEntries(RECORDED_FLAGS.map((option) => [getName(option), undefined]));
  try {
    return { ...absent, ...command.parse(text.split(' ').filter(Boolean), { from: 'user' }).opts() };
  } catch (error) {
    throw error instanceof CommanderError ? new RangeError(error.message.replace(/^error: /, '')) : error;
  }
}

/** Whether a flag is set, or its value. Without a value, the default. */
export function describeFlag(option: Option, value: FlagValue): string {
  if (option.required) return String(value ?? option.defaultValue ?? 'not set');
  return value === !option.negate ? 'set' : 'not set';
}
