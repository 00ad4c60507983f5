import { isRecord } from '../rendered-config/rendered-config.ts';
import { isEmpty, type ValueCheck } from './overlay.ts';
import { getValue } from './validate.ts';

/** What Ignition and the operator check in Go, and the schema of Ignition does not say. */
export interface IgnitionCheck extends ValueCheck {
  /** The versions of Ignition. Undefined for all. */
  readonly versions?: RegExp;
}

const TOKEN = "[-\\w!#$%&'*+.^`{|}~]+";
const DATA_URL = new RegExp(
  `^data:(?:${TOKEN}/${TOKEN})?(?:;${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))*(?:;base64,[A-Za-z\\d+/]*={0,2}$|,)`,
);
const URL_DATA = /^(?:[-!$&'()*+,./:;=?@\w~]|%[\dA-Fa-f]{2})*$/;
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;
const REMOTE_URL = /^(?:https?|tftp|gs|s3|arn):[!-~]*$/;
const UNIT_NAME = /.\.(?:service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope)$/;
const GUID = /^(?:|[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12})$/;
const RAID_LEVEL = /^(?:linear|raid0|0|stripe|raid1|1|mirror|raid4|4|raid5|5|raid6|6|raid10|10)$/;
const LABEL_LENGTHS: Readonly<Record<string, number>> = { ext4: 16, btrfs: 256, xfs: 12, swap: 15, vfat: 11 };
const VERSION_3 = /^3\./;
const SCHEME_HTTP = /^https?:\/\/[!-~]*$/;
const SOURCES = [
  'storage.files.*.contents',
  'storage.files.*.append.*',
  'storage.luks.*.keyFile',
  'ignition.config.merge.*',
  'ignition.config.replace',
  'ignition.config.append.*',
  'ignition.security.tls.certificateAuthorities.*',
];
const PATHS = ['files', 'directories', 'links', 'luks', 'disks', 'filesystems'];

/** Reasons why a data URL does not decode, each with a test. The first one counts. */
const DATA_URL_FAULTS: readonly (readonly [reason: string, pattern: RegExp])[] = [
  ['a placeholder', /\$\{[\w.-]+\}|\$[A-Z][A-Z\d_]+\b|\{\{.*?\}\}|<[A-Za-z][\w -]*>/],
  ['Base64 with line breaks', /;base64,[^]*\s/],
  ['a space or a line break, which must be %20 or %0A', /\s/],
  ['a "%" that begins no code, and must be %25', /^(?!.*;base64,)[^,]*,.*%(?![\dA-Fa-f]{2})/],
  ['characters that are not Base64, or an incomplete end', /;base64,/],
  ['a comma is missing', /^[^,]*$/],
];

/** Why Ignition does not decode a data URL. Undefined if it does. */
export function findDataUrlFault(source: string): string | undefined {
  const [start] = DATA_URL.exec(source) ?? [];
  if (start !== undefined) {
    const isBase64 = start === source && !start.endsWith(',');
    const data = source.slice(isBase64 ? start.indexOf(',') + 1 : start.length);
    if ((isBase64 ? BASE64 : URL_DATA).test(data)) return undefined;
  }
  return DATA_URL_FAULTS.find(([, pattern]) => pattern.test(source))?.[0] ?? 'characters that must be written as %XX';
}

const CHECKS: readonly IgnitionCheck[] = [
  ...PATHS.flatMap((list): IgnitionCheck[] => {
    const isDevice = ['luks', 'disks', 'filesystems'].includes(list);
    const must = 'be an absolute path without "..", "//" or "/" at its end';
    return [{ at: `storage.${list}.*.${isDevice ? 'device' : 'path'}`, must, test: isPath }];
  }),
  {
    at: 'storage.filesystems.*.path',
    must: 'be an absolute path',
    test: (path) => isEmpty(path) || isPath(path),
    versions: VERSION_3,
  },
  ...SOURCES.flatMap((at): IgnitionCheck[] => [
    {
      at: `${at}.source`,
      must: 'be a URL that Ignition fetches, or a data URL',
      test: (url) => isEmpty(url) || isUrl(url),
    },
    {
      at: `${at}.source`,
      must: 'be a data URL that decodes',
      test: (url) => !isDataUrl(url) || findDataUrlFault(url) === undefined,
    },
    { at: `${at}.compression`, must: 'be gzip', test: /^(?:|gzip)$/ },
    {
      at: `${at}.verification.hash`,
      must: 'be sha512-… or sha256-… with all digits',
      test: /^(?:|sha512-[\da-fA-F]{128}|sha256-[\da-fA-F]{64})$/,
    },
    {
      at,
      must: 'have a source beside a hash',
      test: (resource) =>
        isEmpty(getValue(resource, ['verification', 'hash'])) || getValue(resource, ['source']) !== undefined,
      versions: VERSION_3,
    },
  ]),
  ...['ignition.config.merge.*', 'ignition.security.tls.certificateAuthorities.*'].map((at) => {
    return { at, must: 'have a source', test: has('source'), versions: VERSION_3 };
  }),
  ...['httpProxy', 'httpsProxy'].map((field) => {
    return { at: `ignition.proxy.${field}`, must: 'be a URL with the scheme http or https', test: SCHEME_HTTP };
  }),
  { at: 'networkd', must: 'not be set: the operator cannot convert it to Ignition 3', test: isEmpty, versions: /^2\./ },
  ...['files', 'directories', 'links'].flatMap((list): IgnitionCheck[] => [
    { at: `storage.${list}.*.mode`, must: 'be from 0 to 07777', test: (mode) => isWithin(mode, 0, 0o7777) },
    ...['user', 'group'].map((owner) => {
      return { at: `storage.${list}.*.${owner}`, must: 'have an id or a name, not both', test: hasOne };
    }),
    {
      at: `storage.${list}.*`,
      must: 'have the filesystem root',
      test: (node) => getValue(node, ['filesystem']) === 'root',
      versions: /^2\./,
    },
  ]),
  {
    at: 'storage.files.*.mode',
    must: 'be at most 0777: the operator accepts no setuid, setgid or sticky bit',
    test: (mode) => Number(mode) <= 0o777 || Number(mode) > 0o7777,
    versions: /^(?:2\.|3\.[4-9])/,
  },
  {
    at: 'storage.files.*',
    must: 'have contents.source if overwrite is true',
    test: (file) =>
      getValue(file, ['overwrite']) !== true || (getValue(file, ['contents', 'source']) ?? undefined) !== undefined,
    versions: VERSION_3,
  },
  { at: 'storage.links.*', must: 'have a target', test: has('target'), versions: VERSION_3 },
  { at: 'storage.disks.*.partitions.*', must: 'have a label, or a number of at least 1', test: hasPartitionKey },
  { at: 'storage.disks.*.partitions.*.label', must: 'have at most 36 characters and no colon', test: /^[^:]{0,36}$/s },
  ...['guid', 'typeGuid'].map((field) => {
    return { at: `storage.disks.*.partitions.*.${field}`, must: 'be a GUID', test: GUID };
  }),
  {
    at: 'storage.disks.*.partitions.*',
    must: 'have only a number if shouldExist is false',
    test: (partition) =>
      getValue(partition, ['shouldExist']) !== false ||
      ['label', 'typeGuid', 'guid', 'startMiB', 'sizeMiB'].every((key) => isEmpty(getValue(partition, [key]))),
    versions: VERSION_3,
  },
  { at: 'storage.disks.*.partitions', must: 'have each number and each label once', test: hasUniquePartitions },
  { at: 'storage.disks.*.partitions', must: 'not overlap', test: doNotOverlap },
  { at: 'storage.raid.*.level', must: 'be a level of RAID, such as raid1', test: RAID_LEVEL },
  {
    at: 'storage.raid.*',
    must: 'have a level and devices',
    test: (raid) => has('level')(raid) && has('devices')(raid),
  },
  { at: 'storage.raid.*.devices.*', must: 'be an absolute path', test: isPath, versions: /^2\./ },
  {
    at: 'storage.raid.*',
    must: 'have no spares with this level',
    test: (raid) =>
      !getValue(raid, ['spares']) || !/^(?:linear|raid0|0|stripe)$/.test(String(getValue(raid, ['level']))),
  },
  {
    at: 'storage.filesystems.*.format',
    must: 'be one of ext4, btrfs, xfs, vfat, swap, none',
    test: /^(?:|ext4|btrfs|xfs|vfat|swap|none)$/,
    versions: VERSION_3,
  },
  {
    at: 'storage.filesystems.*',
    must: 'have a format beside its other fields',
    test: (system) =>
      has('format')(system) ||
      (['path', 'label', 'uuid', 'mountOptions', 'options'].every((key) => isEmpty(getValue(system, [key]))) &&
        getValue(system, ['wipeFilesystem']) !== true),
    versions: VERSION_3,
  },
  {
    at: 'storage.filesystems.*',
    must: 'have a shorter label for its format',
    test: hasShortLabel,
    versions: VERSION_3,
  },
  { at: 'storage.luks.*.name', must: 'not contain "/"', test: /^[^/]*$/ },
  { at: 'storage.luks.*', must: 'have a device', test: has('device') },
  { at: 'storage.luks.*.label', must: 'have at most 47 characters', test: /^.{0,47}$/s },
  { at: 'storage.luks.*.clevis.tang.*.url', must: 'be a URL with the scheme http or https', test: SCHEME_HTTP },
  { at: 'storage.luks.*.clevis.tang.*', must: 'have a thumbprint', test: has('thumbprint') },
  { at: 'storage.luks.*.clevis.custom.pin', must: 'be one of tpm2, tang, sss', test: /^(?:|tpm2|tang|sss)$/ },
  {
    at: 'storage.luks.*.clevis.custom',
    must: 'have a pin and a config',
    test: (custom) =>
      (has('pin')(custom) && has('config')(custom)) ||
      (!has('pin')(custom) && !has('config')(custom) && getValue(custom, ['needsNetwork']) !== true),
  },
  {
    at: 'storage.luks.*.clevis',
    must: 'have custom or the other ways, not both',
    test: (clevis) =>
      isEmpty(getValue(clevis, ['custom', 'pin'])) ||
      (isEmpty(getValue(clevis, ['tang'])) && getValue(clevis, ['tpm2']) !== true && !getValue(clevis, ['threshold'])),
  },
  { at: 'storage', must: 'have no path below one of its links', test: hasNoPathBelowLink, versions: VERSION_3 },
  { at: '', must: 'not write a unit as a unit and as a file', test: hasNoUnitFile, versions: VERSION_3 },
  { at: 'systemd.units.*.name', must: 'end with .service or another suffix of systemd', test: UNIT_NAME },
  { at: 'systemd.units.*.dropins.*.name', must: 'end with .conf', test: /.\.conf$/ },
];

/** What is checked in a config of this version. */
export function listIgnitionChecks(version: string): readonly ValueCheck[] {
  return CHECKS.filter(({ versions }) => versions === undefined || versions.test(version));
}

/**
 * The name of the list of an item, and what distinguishes the item from others. Undefined if equal items are allowed.
 */
export function getIdentity(path: string, item: unknown): string | undefined {
  if (!isRecord(item)) return /(?:[oO]ptions|\.append)$/.test(path) || typeof item !== 'string' ? undefined : item;
  if (/^storage\.(?:files|directories|links)$/.test(path)) return `path ${String(item['path'])}`;
  if (path.endsWith('.append')) return undefined;
  const key = ['name', 'device', 'url', 'source'].find((name) => typeof item[name] === 'string');
  return key === undefined ? undefined : String(item[key]);
}

function isPath(value: unknown): boolean {
  return typeof value === 'string' && (value === '/' || /^(?:\/(?!\.{1,2}(?:\/|$))[^/]+)+$/s.test(value));
}

function isDataUrl(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('data:');
}

function isUrl(value: unknown): boolean {
  return isDataUrl(value) || REMOTE_URL.test(String(value));
}

function isWithin(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

function has(key: string): (value: unknown) => boolean {
  return (value) => !isEmpty(getValue(value, [key]));
}

function hasOne(owner: unknown): boolean {
  return (getValue(owner, ['id']) ?? undefined) === undefined || isEmpty(getValue(owner, ['name']));
}

function toRecords(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function hasPartitionKey(partition: unknown): boolean {
  return Number(getValue(partition, ['number']) ?? 0) > 0 || typeof getValue(partition, ['label']) === 'string';
}

function hasUniquePartitions(partitions: unknown): boolean {
  return ['number', 'label'].every((key) => {
    const values = toRecords(partitions).map((partition) => partition[key]);
    const known = values.filter((value) => value !== undefined && value !== null && value !== 0);
    return new Set(known).size === known.length;
  });
}

function doNotOverlap(partitions: unknown): boolean {
  const ranges = toRecords(partitions).flatMap(({ startMiB, sizeMiB }) => {
    const [start, size] = [Number(startMiB ?? 0), Number(sizeMiB ?? Number.NaN)];
    return start > 0 && !Number.isNaN(size) ? [{ start, end: size === 0 ? start : start + size - 1 }] : [];
  });
  return ranges.every((one, index) =>
    ranges.slice(index + 1).every((other) => one.end < other.start || other.end < one.start),
  );
}

function hasShortLabel(system: unknown): boolean {
  const label = getValue(system, ['label']);
  return typeof label !== 'string' || label.length <= (LABEL_LENGTHS[String(getValue(system, ['format']))] ?? 256);
}

function hasNoPathBelowLink(storage: unknown): boolean {
  const lists = ['files', 'directories', 'links'].flatMap((list) => toRecords(getValue(storage, [list])));
  const links = toRecords(getValue(storage, ['links'])).map(({ path }) => `${String(path)}/`);
  return !lists.some(({ path }) => links.some((link) => String(path).startsWith(link)));
}

function hasNoUnitFile(config: unknown): boolean {
  const written = new Set<string>();
  for (const unit of toRecords(getValue(config, ['systemd', 'units']))) {
    const path = `/etc/systemd/system/${String(unit['name'])}`;
    if (has('contents')(unit)) written.add(path);
    const dropins = toRecords(unit['dropins']).filter(has('contents'));
    for (const { name } of dropins) written.add(`${path}.d/${String(name)}`);
  }
  const nodes = ['files', 'directories', 'links'].flatMap((list) => toRecords(getValue(config, ['storage', list])));
  return !nodes.some(({ path }) => written.has(String(path)));
}
