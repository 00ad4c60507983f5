import type { ConfigName } from '../decision/config-name.ts';
import { MCO_GROUP } from '../kube/api-paths.ts';
import { type ConsistencyResult, findReferencedConfig, type Problem } from './consistency.ts';
import { toShellWord } from './shell-word.ts';

export interface Repair {
  readonly description: string;
  /** Words, quoted for a shell. A terminal shows each inner list on its own line. */
  readonly command: readonly (readonly string[])[];
}

/** The commands contain only existing configs that are not being deleted. */
export function planRepairs(
  { nodes, pools, problems }: ConsistencyResult,
  configs: ReadonlySet<ConfigName>,
  pendingRequests: readonly string[],
): Repair[] {
  if (problems.every(({ isRecoverable }) => isRecoverable)) return [];
  const configByPool = new Map<string, ConfigName>();
  for (const { pool } of pools) {
    const config = findReferencedConfig(pool.referrer, 'spec');
    if (config !== undefined && configs.has(config)) configByPool.set(pool.referrer.name, config);
  }
  const repairs = pools.flatMap((result) =>
    planPoolRepair(result, configByPool.get(result.pool.referrer.name)),
  );
  for (const [annotations, names] of groupNodesByRepair(nodes, configByPool)) {
    repairs.push({
      description: `${names.length === 1 ? 'node' : 'nodes'}: replace the annotations that name the missing config`,
      command: [
        ['oc', 'annotate', 'node', ...names.map(toShellWord), '--overwrite'],
        ...annotations.split(' ').map((annotation) => [toShellWord(annotation)]),
      ],
    });
  }
  if (pendingRequests.length > 0) {
    repairs.push({
      description: 'approve pending certificate requests of nodes; check the requestors first',
      command: [['oc', 'adm', 'certificate', 'approve', ...pendingRequests.map(toShellWord)]],
    });
  }
  return repairs;
}

function planPoolRepair({ pool, problems }: ConsistencyResult['pools'][number], config?: ConfigName): Repair[] {
  const isStuck = problems.some(
    ({ code, field, isRecoverable }) => field === 'status' && !isRecoverable && code !== 'ConfigTerminating',
  );
  if (config === undefined || !isStuck) return [];
  const { name } = pool.referrer;
  const patch = JSON.stringify({ status: { configuration: { name: config } } });
  const description = `pool ${name}: set the status, from which new machines get their config`;
  const words = ['oc', 'patch', 'machineconfigpool', toShellWord(name), '--subresource=status', '--type=merge'];
  return [{ description, command: [words, ['-p', toShellWord(patch)]] }];
}

/** Node names, keyed by the annotations that they need. */
function groupNodesByRepair(nodes: ConsistencyResult['nodes'], configByPool: ReadonlyMap<string, ConfigName>) {
  const namesByRepair = new Map<string, string[]>();
  for (const { node, pool, problems } of nodes) {
    const missing = problems.filter(({ code, isRecoverable }) => code === 'ConfigMissing' && !isRecoverable);
    const poolConfig = pool === undefined ? undefined : configByPool.get(pool);
    const annotations = missing.flatMap((problem) => formatAnnotation(problem, poolConfig));
    if (annotations.length === 0) continue;
    if (node.state !== 'Done') annotations.push(`${MCO_GROUP}/state=Done`);
    const key = annotations.join(' ');
    namesByRepair.set(key, [...(namesByRepair.get(key) ?? []), node.referrer.name]);
  }
  return namesByRepair;
}

function formatAnnotation({ field, suggestion }: Problem, poolConfig?: ConfigName): string[] {
  const config = suggestion ?? poolConfig;
  return config === undefined || field === undefined ? [] : [`${MCO_GROUP}/${field}=${config}`];
}
