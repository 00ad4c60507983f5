import { groupBy } from '../common/group-by.ts';
import type { ShellCommand } from './shell-command.ts';

/** All repairs in their order: first what others need, last what loses something. */
const REPAIR_ORDER = [
  'startOperator',
  'assignPool',
  'leavePool',
  'resetSpec',
  'resetDesired',
  'uncordon',
  'restore',
  'readDisk',
  'changeBack',
  'startKubelet',
  'endPressure',
  'correctSource',
  'continueRestore',
  'unpause',
  'setStatus',
  'allowDisruption',
  'deleteBuild',
  'rebuild',
  'approveRequests',
  'readLog',
  'force',
  'nameConfigOfPool',
  'deleteNode',
] as const;

export type RepairName = (typeof REPAIR_ORDER)[number];

/** What ends one cause. */
export interface Repair {
  readonly name: RepairName;
  /** What it does, and what it costs. A clause without a period. */
  readonly text: string;
  /** Undefined if only a person can do it, or if a name in it could change the command. */
  readonly command?: ShellCommand | undefined;
  /** The names for `TARGETS` in the command: all objects that need the same one. */
  readonly targets?: readonly string[];
  /** Whether a person must choose: only if its text applies. */
  readonly alternative?: boolean;
  /**
   * Only the first object gets it. The others follow when that one has recovered. A `restart` of the node is immediate,
   * whatever the other nodes of its pool do.
   */
  readonly oneAtATime?: 'restart' | 'other';
}

/** A repair of one cause or of several. Part of the JSON of `check`. */
export interface PlannedRepair {
  readonly text: string;
  /** Null if only a person can do it, or if a name in it could change the command. */
  readonly command: ShellCommand | null;
  /** Whether a person must choose: only if its text applies. */
  readonly alternative: boolean;
}

/** A pool loses two nodes at once if one is repaired before another one is back: daemons ignore maxUnavailable. */
export function holdBack(repair: Repair, returningNode: string | undefined): Repair {
  if (repair.oneAtATime !== 'restart' || returningNode === undefined) return repair;
  const wait = `First wait until node ${returningNode} is Done and ready, and run check again for the command`;
  return { ...repair, text: `${repair.text}. ${wait}`, command: undefined };
}

/**
 * Puts the repairs in their order, alternatives last, and combines those with the same text and command. The first one
 * is the best.
 */
export function planRepairs(repairs: readonly Repair[]): readonly PlannedRepair[] {
  const toKey = ({ name, text, command, alternative, oneAtATime }: Repair) =>
    JSON.stringify([name, alternative, text, oneAtATime ? '' : command?.words.map(String)]);
  const groups = [...groupBy(repairs, toKey).values()];
  const planned = REPAIR_ORDER.flatMap((name) => groups.filter(([first]) => first?.name === name).map(combine));
  return planned.toSorted((a, b) => Number(a.alternative) - Number(b.alternative));
}

function combine(repairs: readonly Repair[]): PlannedRepair {
  const [first] = repairs as [Repair];
  const { text, command, alternative = false, oneAtATime } = first;
  const targets = [...new Set((oneAtATime ? [first] : repairs).flatMap((repair) => repair.targets ?? []))];
  return { text, command: command?.withTargets(targets) ?? null, alternative };
}
