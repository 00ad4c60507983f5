import { type ConfigName, parsePoolName, toConfigName } from '../mco/machine-config.ts';

/**
 * What the machine-config-daemon says in the annotation `reason` of its node, with the texts of OpenShift 4.14 to 5.0
 * (machine-config-operator, pkg/daemon). The node writes the annotation, so no field of this can be trusted.
 */
export type DaemonReason =
  /** A config that an annotation names is not in the API. Undefined if the annotation was empty. */
  | { readonly type: 'configNotFound'; readonly config: ConfigName | undefined }
  /**
   * The first boot got its config from the bootstrap host, and the API never had it. Undefined if the first boot
   * changed nothing: then the disk has no `currentconfig`, and the text names no config.
   */
  | { readonly type: 'bootstrapMismatch'; readonly config: ConfigName | undefined }
  /** The disk differs from a config. Undefined if the text does not name it, as in image mode: it names the image. */
  | {
      readonly type: 'diskDiffers';
      readonly comparedWith: ConfigName | undefined;
      readonly difference: DiskDifference;
      /** The rest of the text, after the name of the config. */
      readonly detail: string;
    }
  /** The controller could not evict every pod. */
  | { readonly type: 'drainFailed' }
  /** Any other text, also none. */
  | { readonly type: 'other' };

export type DiskDifference =
  /** A file, a unit or a drop-in. */
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'kernelArguments'; readonly missing: readonly string[] }
  /** The daemon cannot decode the file that keeps its current config: it is empty, ends early, or has other bytes. */
  | { readonly type: 'record' }
  | { readonly type: 'osImage' | 'other' };

/** The daemon cuts its reason here (pkg/daemon/writer.go). A hostile one can have 256 KiB. */
const MAX_REASON_LENGTH = 2_000;
/** As Go prints a text with `%q`. */
const QUOTED = String.raw`"((?:[^"\\]|\\.){0,1000})"`;

// Each pattern has one way to match a text, so a search takes linear time.
const NOT_FOUND = new RegExp(String.raw`\bmachineconfigs?\.machineconfiguration\.openshift\.io ${QUOTED} not found`);
const BOOTSTRAP_MISMATCH = /\bbootstrap generated MC (\S{1,253}) (?:and in-cluster generated MC|does not match)/;
const BOOTSTRAP_DISK = /\berror (?:fetching )?current config\b.{0,300}\bon disk\b/;
const ON_DISK = /\bunexpected on-disk state(?: validating against (\S{1,500}): )?/;
const DRAIN = /\bfailed to drain node\b|\bwhile attempting to drain node\b/;

const KERNEL_ARGUMENTS = /\bmissing expected kernel arguments: \[([^\]]*)\]/;
const OS_IMAGE = /\bexpected target osImageURL "/;
/** Of Go's JSON decoder. Only when the daemon starts, words come before it. */
const RECORD =
  /^(?:error reading config from disk: )?(?:(?:unexpected )?EOF|unexpected end of JSON input|invalid character .*)$/;
const FILE_CHECKS = '(?:content|mode) mismatch for file|could not (?:stat|read) file|state validation: .{0,200}?path';
const FILE = new RegExp(`(?:${FILE_CHECKS}):? ${QUOTED}`);

/** @param reason the annotation of a node, or '' if it is absent */
export function parseDaemonReason(reason: string): DaemonReason {
  const text = reason.slice(0, MAX_REASON_LENGTH);
  const [, bootstrapConfig] = BOOTSTRAP_MISMATCH.exec(text) ?? [];
  if (bootstrapConfig !== undefined) return { type: 'bootstrapMismatch', config: copyName(bootstrapConfig) };
  if (BOOTSTRAP_DISK.test(text)) return { type: 'bootstrapMismatch', config: undefined };

  const [, missing] = NOT_FOUND.exec(text) ?? [];
  if (missing !== undefined) return { type: 'configNotFound', config: missing === '' ? undefined : copyName(missing) };

  const onDisk = ON_DISK.exec(text);
  const difference = findDifference(text);
  // The monitor of the daemon reports a changed file without naming the config (pkg/daemon/config_drift_monitor.go).
  if (onDisk !== null || difference.type !== 'other') {
    const name = copyName(onDisk?.[1] ?? '');
    const comparedWith = parsePoolName(name) === undefined ? undefined : name;
    const detail = onDisk === null ? text : text.slice(onDisk.index + onDisk[0].length);
    return { type: 'diskDiffers', comparedWith, difference, detail };
  }
  return { type: DRAIN.test(text) ? 'drainFailed' : 'other' };
}

function findDifference(text: string): DiskDifference {
  const kernelArguments = KERNEL_ARGUMENTS.exec(text)?.[1];
  if (kernelArguments !== undefined) {
    return { type: 'kernelArguments', missing: kernelArguments.split(' ').filter((argument) => argument !== '') };
  }
  if (OS_IMAGE.test(text)) return { type: 'osImage' };
  if (RECORD.test(text)) return { type: 'record' };
  const path = FILE.exec(text)?.[1];
  return path === undefined ? { type: 'other' } : { type: 'file', path };
}

/** A match would keep the whole text in memory. */
function copyName(name: string): ConfigName {
  return toConfigName(Buffer.from(name).toString());
}
