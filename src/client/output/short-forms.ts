import { joinFirst, joinWithAnd, toPrintableLine } from '../../common/printable-text.ts';
import { REFERRER_KINDS, REFERRER_NOUNS } from '../../mco/referrer.ts';
import type { TextFormat } from './text-format.ts';
import { MCO_GROUP } from '../../mco/api-paths.ts';
import { formatName } from '../../mco/machine-config.ts';

const SHORT_NAME = /^rendered-(.+-[0-9a-f]{8})[0-9a-f]{24}$/;
const MAX_NAMES_PER_KIND = 3;

/** One unit, unlike kubectl (`5m30s`): `45s`, `12m`, `30h`, `250d`. */
export function formatAge(ms: number): string {
  if (Number.isNaN(ms)) return '<unknown>';
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 2 * 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3_600) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** As `oc get -o name` prints it, such as `machineconfig.machineconfiguration.openshift.io/00-worker`. */
export function formatResourceName(kind: string, name: string): string {
  const group = kind.startsWith('Machine') ? `.${MCO_GROUP}` : '';
  return toPrintableLine(`${kind.toLowerCase()}${group}/${name}`);
}

export function formatObjectNames(objects: readonly Readonly<Record<'kind' | 'name', string | null>>[]) {
  const texts = REFERRER_KINDS.flatMap((kind) => {
    const names = new Set(objects.filter((object) => object.kind === kind).map(({ name }) => name ?? ''));
    if (names.size === 0) return [];
    const noun = `${REFERRER_NOUNS[kind]}${names.size === 1 ? '' : 's'}`;
    return [`${noun} ${joinFirst([...names], MAX_NAMES_PER_KIND)}`];
  });
  return joinWithAnd(texts);
}

/** Shortens a name in a terminal, unless `-o wide` prints names in full. The commands accept the short name. */
export function formatShortName({ columns, isWide }: TextFormat, config: string): string {
  return formatName(columns === undefined || isWide === true ? config : config.replace(SHORT_NAME, '$1'));
}
