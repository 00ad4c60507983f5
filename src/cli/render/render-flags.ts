import { type Command, Option } from 'commander';
import type { ClusterFlags } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { joinWithAnd } from '../../common/printable-text.ts';
import { parseHold } from '../../client/option-parsers.ts';
import { MODES } from '../../api/settings.ts';
import type { InstallationOptions } from '../../install/installation.ts';
import { FLAG_LABEL_PREFIX, isGuardProfile, needsRunningCluster, PROFILES } from '../../install/profiles.ts';

export type FlagValue = string | boolean | undefined;
export type FlagValues = Readonly<Record<string, FlagValue>>;

export interface RenderFlags extends Omit<InstallationOptions, 'authority'>, ClusterFlags {
  readonly out: string;
  readonly tls: 'generated' | 'service-ca';
  readonly openshiftVersion?: string;
  readonly fromCluster?: boolean;
  readonly newAuthority?: boolean;
  readonly policy?: boolean;
  readonly force?: boolean;
}

export const STDOUT = '-';
export const EXAMPLE_IMAGE = 'registry.example.com/machineconfig-guard@sha256:…';

/** The flags of an installation, which are labels of its objects. An upgrade repeats them. */
export const RECORDED_FLAGS: readonly Option[] = [
  new Option('--profile <profile>', 'what to install: see the profiles below').choices(PROFILES).default('fail-closed'),
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
];

const FLAGS_OF_A_GUARD: readonly string[] = [
  ...RECORDED_FLAGS.map((option) => option.attributeName()).filter((name) => name !== 'profile'),
  'image',
  'newAuthority',
];

/** Adds each flag, and for a flag without a value the opposite that takes it back. */
export function addRecordedFlags(command: Command): void {
  for (const option of RECORDED_FLAGS) command.addOption(option);
  for (const { long = '', negate } of RECORDED_FLAGS.filter((option) => !option.required)) {
    const opposite = negate ? long.replace('--no-', '--') : long.replace('--', '--no-');
    command.option(opposite, `with --from-cluster: take back ${long}`);
  }
}

export function parseFlagLabels(labels: Readonly<Record<string, string>>): FlagValues {
  if (!(`${FLAG_LABEL_PREFIX}profile` in labels)) fail(`there is no label ${FLAG_LABEL_PREFIX}profile`);
  const flags = getDefaults();
  for (const [label, value] of Object.entries(labels)) {
    if (!label.startsWith(FLAG_LABEL_PREFIX)) continue;
    const flag = label.replace(FLAG_LABEL_PREFIX, '--');
    const option = RECORDED_FLAGS.find(({ long }) => long === flag) ?? fail(`this version does not know ${flag}`);
    flags[option.attributeName()] = option.required ? value : !option.negate;
  }
  return flags;
}

function fail(reason: string): never {
  const message = `cannot know the flags of the installed guard: ${reason}; uninstall it first`;
  throw new CliError(message, EXIT_CODE.failure);
}

export function getDefaults(): Record<string, FlagValue> {
  return Object.fromEntries(
    RECORDED_FLAGS.map((option) => [option.attributeName(), option.required ? option.defaultValue : option.negate]),
  );
}

export function describeFlag(option: Option, value: FlagValue): string {
  if (option.required) return String(value ?? 'not set');
  return value === !option.negate ? 'set' : 'not set';
}

/** The flag as a user gives it, from the name of its value. */
function toFlag(name: string, flags: object): string {
  const long = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return (flags as FlagValues)[name] === false ? `--no-${long}` : `--${long}`;
}

function rejectIf(isConflict: boolean, message: string): void {
  if (isConflict) throw new CliError(message, EXIT_CODE.usage);
}

export function assertNoConflict(flags: RenderFlags, isGiven: (name: string) => boolean): void {
  const { out, tls, fromCluster, newAuthority, policy, profile } = flags;
  const isForeign = (name: string) => isGiven(name) && !(name === 'tls' && profile === 'monitoring');
  // Commander would say it before it names an unknown flag.
  rejectIf(!isGiven('out'), '--out is needed: a directory, or - for one YAML stream');
  rejectIf(policy === true && out !== STDOUT, '--policy needs --out -');
  const isForInstaller = needsRunningCluster(profile) && out !== STDOUT;
  rejectIf(isForInstaller, `--profile ${profile} needs --out -, for a running cluster`);
  if (!isGuardProfile(profile)) {
    const foreign = FLAGS_OF_A_GUARD.filter(isForeign).map((name) => toFlag(name, flags));
    return rejectIf(foreign.length > 0, `--profile ${profile} has no guard; drop ${joinWithAnd(foreign)}`);
  }
  rejectIf(flags.image === undefined && fromCluster !== true, `--image is needed, such as ${EXAMPLE_IMAGE}`);
  rejectIf(
    policy === true && (tls !== 'service-ca' || profile !== 'fail-closed'),
    'a guard in a --policy needs --tls service-ca and the profile fail-closed',
  );
  rejectIf(
    newAuthority === true && (fromCluster !== true || tls !== 'generated'),
    '--new-authority needs --from-cluster and no --tls service-ca; drop --new-authority',
  );
}
