import type { ConfigName } from '../decision/config-name.ts';
import { type ConsistencyResult, findReferencedConfig, type NodeResult, type Problem } from './consistency.ts';

/** Something a person can do, and the command for it. Never run by the guard. */
export interface Repair {
  /** What it changes, in a few words. */
  readonly description: string;
  /** The words of the command, quoted for a shell where they need it. Each inner list stays on one line. */
  readonly command: readonly (readonly string[])[];
}

const MCO = 'machineconfiguration.openshift.io';

/**
 * What brings a cluster back whose nodes and pools name configs that no longer come into being: the pools' status, the nodes'
 * annotations, and the certificate requests of nodes that could not join meanwhile. Only for what waiting does not heal, and
 * only towards configs that exist.
 */
export function planRepairs(
  { nodes, pools, problems }: ConsistencyResult,
  configs: ReadonlySet<ConfigName>,
  pendingRequests: readonly string[],
): Repair[] {
  if (problems.every(({ isRecoverable }) => isRecoverable)) return [];
  const found: Repair[] = [];
  const specOf = new Map<string, ConfigName>();
  for (const {
    pool: { referrer },
  } of pools) {
    const spec = findReferencedConfig(referrer, 'spec');
    if (spec !== undefined && configs.has(spec)) specOf.set(referrer.name, spec);
  }
  for (const {
    pool: { referrer },
    problems,
  } of pools) {
    const target = specOf.get(referrer.name);
    if (target === undefined || !problems.some(({ field, isRecoverable }) => field === 'status' && !isRecoverable))
      continue;
    const patch = JSON.stringify({ status: { configuration: { name: target } } });
    found.push({
      description: `pool ${referrer.name}: its status, which machines that boot are served from`,
      command: [
        ['oc', 'patch', 'machineconfigpool', quoted(referrer.name), '--subresource=status', '--type=merge'],
        ['-p', quoted(patch)],
      ],
    });
  }
  for (const [annotations, names] of nodesByRepair(nodes, specOf)) {
    found.push({
      description: `${names.length === 1 ? 'node' : 'nodes'}: the annotations that name the missing config`,
      command: [
        ['oc', 'annotate', 'node', ...names.map(quoted), '--overwrite'],
        ...annotations.split(' ').map((word) => [quoted(word)]),
      ],
    });
  }
  if (pendingRequests.length > 0) {
    found.push({
      description: 'pending certificate requests of nodes; look at who asks first',
      command: [['oc', 'adm', 'certificate', 'approve', ...pendingRequests.map(quoted)]],
    });
  }
  return found;
}

/** Nodes that need the same annotations share a command. */
function nodesByRepair(
  nodes: readonly NodeResult[],
  specOf: ReadonlyMap<string, ConfigName>,
): ReadonlyMap<string, readonly string[]> {
  const byRepair = new Map<string, string[]>();
  for (const {
    node: { referrer, state },
    pool,
    problems,
  } of nodes) {
    const broken = problems.filter(({ code, isRecoverable }) => code === 'ConfigMissing' && !isRecoverable);
    const spec = pool === undefined ? undefined : specOf.get(pool);
    const changes = broken.flatMap((problem) => annotation(problem, spec));
    if (changes.length === 0) continue;
    if (state !== 'Done') changes.push(`${MCO}/state=Done`);
    const key = changes.join(' ');
    byRepair.set(key, [...(byRepair.get(key) ?? []), referrer.name]);
  }
  return byRepair;
}

function annotation({ field, suggestion }: Problem, spec: ConfigName | undefined): string[] {
  const target = suggestion ?? spec;
  return target === undefined || field === undefined ? [] : [`${MCO}/${field}=${target}`];
}

/** As one word for a POSIX shell. Names in the API need no quotes; what needs them is quoted all the same. */
function quoted(word: string): string {
  return /^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
