import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { parseInspectedNode, parseInspectedPool } from '../../src/client/cluster-reader.ts';
import type { ClusterSnapshot } from '../../src/diagnosis/cluster-snapshot.ts';
import type { Repair } from '../../src/diagnosis/repairs.ts';
import type { ApiObject } from '../../src/kube/api-object.ts';
import { computeRenderedName } from '../../src/rendered-config/config-hash.ts';
import { MCO_GROUP } from '../../src/mco/api-paths.ts';
import { type ConfigName, toConfigName } from '../../src/mco/machine-config.ts';

interface NamedState {
  readonly objects: string;
  /** The codes, with a question mark if waiting can help. */
  readonly problems: string;
  readonly repairs?: readonly string[];
}

const STATES = parse(readFileSync(new URL('states.yaml', import.meta.url), 'utf8')) as Record<string, NamedState>;

export const STATE_NAMES = Object.keys(STATES);

/** The text of a state, the expected codes of its problems, and its expected repairs. */
export function getState(name: string): { readonly text: string; readonly expected: readonly string[] } {
  const state = STATES[name];
  if (state === undefined) throw new Error(`states.yaml has no state ${name}`);
  return { text: state.objects, expected: [state.problems, ...(state.repairs ?? [])] };
}

export const NOW = new Date('2026-11-20T12:00:00Z');
const CAPITAL = /\b([A-Z])(?::([-\w]+))?\b(?=$|[\s:"·])/g;

export interface State {
  readonly nodes: readonly ApiObject[];
  readonly pools: readonly ApiObject[];
  readonly configs: readonly ReturnType<typeof renderConfig>[];
  readonly replicas: number | undefined;
  readonly requests: readonly string[];
}

/** The content of the config that a letter stands for. Its name contains the hash of it. */
export function renderConfig(letter: string, pool: string) {
  const source = `data:,server%20${letter}.example.com`;
  const spec = {
    config: {
      ignition: { version: '3.4.0' },
      storage: { files: [{ path: '/etc/chrony.conf', mode: 420, overwrite: true, contents: { source } }] },
    },
    fips: false,
    kernelType: 'default',
    osImageURL: 'quay.io/openshift/os@sha256:' + 'ac2ad5b01eed7b02'.repeat(4),
  };
  return { letter, pool, spec, name: computeRenderedName(pool, spec) };
}

/** `T` is misspelled, as in `oc annotate`. */
function nameConfig(letter: string, pool: string): ConfigName {
  if (letter !== 'T') return renderConfig(letter, pool).name;
  return toConfigName(renderConfig('W', pool).name.replace('rendered', 'render'));
}

export function buildState(text: string, now = NOW): State {
  const lines = text.split('\n').map((line) => line.trim());
  const list = (prefix: string) =>
    lines.flatMap((line) => (line.startsWith(`${prefix} `) ? [line.slice(prefix.length + 1).split(' · ')] : []));
  const firstPool = list('P')[0]?.[0] ?? '';
  const spell = (part: string, pool: string) =>
    part.replaceAll(CAPITAL, (_all, letter: string, ofPool: string | undefined) => nameConfig(letter, ofPool ?? pool));
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { [`f:${MCO_GROUP}/currentConfig`]: {} } } };
  const toTime = (minutes: string | number) => new Date(now.getTime() - Number(minutes) * 60_000).toISOString();
  const nodes = list('N').map(
    ([name = '', roles = '', current = '-', desired = '-', state = '', reason = '', age = '']) => {
      const ownRoles = roles === '-' ? [] : roles.split(' ');
      const values = { currentConfig: current, desiredConfig: desired, state, reason };
      const set = Object.entries(values).filter(([, value]) => value !== '-' && value !== '');
      const annotations = set.map(([key, value]) => [`${MCO_GROUP}/${key}`, spell(value, ownRoles[0] ?? firstPool)]);
      return {
        metadata: {
          name,
          creationTimestamp: toTime(30),
          labels: Object.fromEntries(ownRoles.map((role) => [`node-role.kubernetes.io/${role}`, ''])),
          annotations: Object.fromEntries(annotations) as Record<string, string>,
          managedFields: age === '' ? [] : [{ manager: 'kubectl-annotate', time: toTime(age.slice(1)), fieldsV1 }],
        },
      };
    },
  );
  const pools = list('P').map(([name = '', spec = '-', status = '-', counts = '', ...more]) => {
    const [machineCount, updatedMachineCount, readyMachineCount, degradedMachineCount] = counts.split('/').map(Number);
    const toConfiguration = (part: string) => (part === '-' ? {} : { name: spell(part, name) });
    const conditions = more.flatMap((part) => {
      const [, type, minutes = '5', message = ''] = /^([A-Z]\w+)(?:@(\d+))?(?:=(.*))?$/.exec(part) ?? [];
      if (type === undefined) return [];
      const times = { status: type === 'Updated' ? 'False' : 'True', lastTransitionTime: toTime(minutes) };
      return [{ type, message: spell(message, name), reason: '', ...times }];
    });
    const age = more.find((part) => part.startsWith('@'))?.slice(1) ?? 120;
    const source = [{ name: `00-${name}` }, { name: '99-okd-disable-mitigations' }];
    const counted = { machineCount, updatedMachineCount, readyMachineCount, degradedMachineCount };
    return {
      metadata: { name, creationTimestamp: toTime(age) },
      spec: {
        configuration: { ...toConfiguration(spec), source },
        nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
        paused: more.includes('paused'),
      },
      status: { configuration: toConfiguration(status), ...counted, conditions },
    };
  });
  const configs = list('MC').flatMap(([names = '']) =>
    names.split(' ').map((part) => renderConfig(part.slice(0, 1), part.slice(2) || firstPool)),
  );
  return { nodes, pools, configs, replicas: Number(list('K')[0]?.[0]) || undefined, requests: list('R').flat() };
}

/** As the commands read it. */
export function readState(state: State): ClusterSnapshot {
  const createdAt = new Date(NOW.getTime() - 300_000).toISOString();
  return {
    nodes: state.nodes.map(parseInspectedNode),
    pools: state.pools.map(parseInspectedPool),
    configs: new Set(state.configs.map(({ name }) => name)),
    terminatingConfigs: new Set(),
    pendingRequests: state.requests.map((name) => ({ name, node: 'control2', signer: '', createdAt })),
    controlPlaneReplicas: state.replicas,
  };
}

function toLetters(text: string): string {
  const pools = ['master', 'worker', 'worker-rt', 'infra'];
  const names = pools.flatMap((pool) =>
    Array.from('TABIWXYZ', (letter) => [nameConfig(letter, pool), letter] as const),
  );
  return names.reduce((result, [name, letter]) => result.replaceAll(name, letter), text);
}

/** A command without the words that are always the same. An alternative begins with `#`. */
export function formatRepair({ command, alternative }: Repair): string {
  const line = command.join(' ').replaceAll(/machineconfiguration\.openshift\.io\/|node-role\.kubernetes\.io\//g, '');
  return (alternative ? '# ' : '') + toLetters(line.replaceAll(/machineconfig-guard |--overwrite /g, ''));
}
