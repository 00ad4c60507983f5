import { parseInspectedNode, parseInspectedPool } from '../../src/client/cluster-reader.ts';
import { type ConfigName, toConfigName } from '../../src/decision/references.ts';
import type { ClusterSnapshot } from '../../src/diagnosis/cluster-snapshot.ts';
import type { Repair } from '../../src/diagnosis/repairs.ts';
import type { ApiObject } from '../../src/kube/api-object.ts';
import { MCO_GROUP } from '../../src/kube/api-paths.ts';
import { computeRenderedName } from '../../src/rendered-config/config-hash.ts';

const NOT_FOUND = `machineconfig.${MCO_GROUP} "X" not found`;
const ON_DISK = 'unexpected on-disk state validating against Y: content mismatch for file "/etc/chrony.conf"';
const TWO_MASTERS = `
  N control0 · master · Y · Y · Done
  N control1 · master · Y · Y · Done
  P master · Y · Y · 2/2/2/0`;
const WORKERS = `
  N worker-0 · worker · W · W · Done
  P worker · W · W · 1/1/1/0`;

/**
 * States of clusters from public reports, rebuilt without their names and hosts. The later ones are of the same kinds.
 *
 * `N name · roles · current · desired · state · reason · age of the names`,
 * `P pool · spec · status · machines/updated/ready/degraded · more`, `MC` the configs that exist,
 * `K` the replicas of the install-config, `R` a pending certificate request. A capital stands for a config of the pool
 * in its line, or of the pool behind it. `-` is empty, `@` an age in minutes.
 */
export const STATES = {
  // openshift/cluster-version-operator#1076, machine-config-operator#2218
  R1: `
    N control0 · master · X · X · Degraded · ${NOT_FOUND}
    N control1 · master · X · X · Degraded · ${NOT_FOUND}
    N control2 · master · X · X · Degraded · ${NOT_FOUND}
    P master · Y · - · 3/0/0/3
    P worker · W · W · 0/0/0/0
    MC Y W:worker`,
  // openshift/machine-config-operator#2114: the same, days later
  R2: `
    N control0 · master · X · X · Degraded · ${NOT_FOUND}
    P master · Y · - · 1/0/0/1 · @7200
    MC Y`,
  // okd-project/okd#963, machine-config-operator#2010: only the disk names X
  R7: `
    N control0 · master · Y · Y · Degraded · ${NOT_FOUND}
    N control1 · master · Y · Y · Degraded · ${NOT_FOUND}
    N control2 · master · Y · Y · Degraded · ${NOT_FOUND}
    P master · Y · Y · 3/0/0/3
    MC Y`,
  'R7-empty': `
    N control0 · master · Y · Y · Degraded · ${NOT_FOUND}
    P master · Y · - · 1/0/0/1
    MC Y`,
  // openshift/installer#2936: the first roll-out, from a config that the bootstrap host and the cluster have
  R9: `
    N control0 · master · X · X · Done
    N control1 · master · X · Y · Working
    P master · Y · - · 2/0/0/0
    MC X Y`,
  // openshift/machine-config-operator#1921
  R12: `
    N worker-0 · worker · X · X · Degraded · ${NOT_FOUND}
    N worker-1 · worker · Y · Y · Done
    P worker · Y · X · 2/1/1/1 · @7200
    MC Y`,
  // openshift/machine-config-operator#4594
  R13: `
    N worker-0 · worker · A · X · Degraded · ${NOT_FOUND}
    N worker-1 · worker · A · A · Done
    P worker · X · A · 2/0/1/1 · RenderDegraded=could not get current MachineConfig X
    MC A`,
  'R13-fixed': `
    N worker-0 · worker · A · X · Degraded · ${NOT_FOUND}
    N worker-1 · worker · A · A · Done
    P worker · A · A · 2/1/1/1
    MC A`,
  // crc-org/snc#615: a script deleted the desired config, which the operator renders again
  R14: `
    N crc · master worker · A · B · Degraded · unauthorized
    P master · B · A · 1/0/0/1
    MC A:master`,
  // openshift/release#31224
  R17: `
    N worker-0 · worker · A · B · Working
    N worker-1 · worker · A · A · Done
    P worker · B · A · 2/0/1/0
    MC A B`,
  // okd-project/okd#1037
  R18: `
    N worker-0 · worker · Y · B · Degraded · ${ON_DISK}
    P worker · B · Y · 1/0/0/1
    MC Y B`,
  // openshift/machine-config-operator#2148
  R20: `
    N worker-0 · worker · A · - · Done
    P worker · A · A · 1/1/1/0
    MC A`,
  // openshift/machine-config-operator#4097
  R21: `
    N worker-4 · - · X:worker · X:worker · Done
    P worker · W · W · 0/0/0/0
    MC X:worker W:worker`,
  'R21-gone': `
    N worker-4 · - · X:worker · X:worker · Degraded · ${NOT_FOUND}
    P worker · W · W · 0/0/0/0
    MC W:worker`,
  // openshift/machine-config-operator#429
  R22: `
    N worker-0 · worker worker-rt · A:worker-rt · A:worker-rt · Done
    P worker · W · W · 0/0/0/0
    P worker-rt · A · A · 1/1/1/0
    MC W:worker A:worker-rt`,
  'R22-two': `
    N worker-0 · worker worker-rt infra · A:worker-rt · A:worker-rt · Done
    P infra · I · I · 0/0/0/0
    P worker · W · W · 0/0/0/0
    P worker-rt · A · A · 0/0/0/0
    MC W:worker A:worker-rt I:infra`,
  // a public runbook of 2025: the pool is reverted in the middle of a roll-out
  R23: `
    N worker-2 · worker · A · B · Working
    P worker · A · A · 1/0/0/0
    MC A B`,
  // openshift/runbooks#44
  R24: `
    N worker-0 · worker · A · A · Done
    P worker · B · A · 1/0/1/0 · paused
    MC A B`,
  // assisted-installer, OCPBUGS-96696: the third master waits for its certificate request
  R25: `${TWO_MASTERS}
    K 3
    R csr-8vnps
    MC Y`,
  R28: `${TWO_MASTERS}
    MC Y`,
  // the annotations were changed to the config of the pool, and the disks have X
  R38: `
    N control1 · master · Y · Y · Degraded · ${ON_DISK}
    N control2 · master · Y · Y · Degraded · ${ON_DISK}
    P master · Y · Y · 2/0/0/2
    MC Y`,
  // After the printed repairs: the daemon has not tried again.
  'R38-annotated': `
    N control1 · master · X · X · Degraded · ${ON_DISK}
    P master · Y · Y · 1/0/0/1 · @180
    MC X Y`,
  // More than an hour after the repair, waiting has not helped.
  'R38-annotated long ago': `
    N control1 · master · X · X · Degraded · ${ON_DISK} · @61
    P master · Y · Y · 1/0/0/1 · @180
    MC X Y`,
  'R7-restored': `
    N control0 · master · Y · Y · Degraded · ${NOT_FOUND}
    P master · Y · Y · 1/0/0/1 · @180
    MC X Y`,
  'two missing': `
    N worker-0 · worker · X · Z · Degraded · ${NOT_FOUND}
    P worker · W · W · 1/0/0/1
    MC W`,
  'no config of the pool': `
    N worker-0 · worker · A · X · Degraded · ${NOT_FOUND}
    P worker · Z · - · 1/0/0/1 · RenderDegraded=could not get current MachineConfig Z
    MC A`,
  'paused roll-out': `${WORKERS}
    N control0 · master · X · X · Done
    P master · Y · - · 1/0/1/0 · paused
    MC X:master Y:master W:worker`,
  'every machine Degraded': `
    N control0 · master · Y · Y · Degraded · failed to drain node
    P master · Y · - · 1/0/0/1
    MC Y`,
  'nothing moves': `
    N control0 · master · X · X · Done
    P master · Y · - · 1/0/1/0 · Updated@1200000
    MC X Y`,
  'drain fails': `
    N worker-0 · worker · A · B · Degraded · failed to drain node
    P worker · B · A · 1/0/0/1 · NodeDegraded@10=1 nodes are reporting degraded status on sync
    MC A B`,
  'drain fails for long': `
    N worker-0 · worker · A · B · Degraded · failed to drain node
    P worker · B · A · 1/0/0/1 · NodeDegraded@600=1 nodes are reporting degraded status on sync
    MC A B`,
  Unreconcilable: `
    N worker-0 · worker · A · B · Unreconcilable · can't reconcile config A with B: ignition disks section changed
    P worker · B · A · 1/0/0/1
    MC A B`,
  'cannot render': `${WORKERS}
    P infra · A · A · 0/0/0/0 · RenderDegraded@90=parsing Ignition config failed
    MC W:worker A:infra`,
  typo: `
    N worker-0 · worker · T · T · Degraded · ${NOT_FOUND.replace('X', 'T')}
    P worker · W · W · 1/0/0/1
    MC W`,
} as const;

export type StateName = keyof typeof STATES;

export const NOW = new Date('2026-11-20T12:00:00Z');
const CAPITAL = /\b([A-Z])(?::([-\w]+))?\b(?=$|[\s:"·])/g;

export interface State {
  readonly nodes: readonly ApiObject[];
  readonly pools: readonly ApiObject[];
  /** Each config that exists. */
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

/** Builds the objects of the API. */
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
      const pool = roles === '-' ? firstPool : (roles.split(' ')[0] ?? '');
      const values = {
        currentConfig: spell(current, pool),
        desiredConfig: spell(desired, pool),
        state,
        reason: spell(reason, pool),
      };
      const set = Object.entries(values).filter(([, value]) => value !== '-' && value !== '');
      return {
        metadata: {
          name,
          creationTimestamp: toTime(30),
          labels:
            roles === '-'
              ? {}
              : Object.fromEntries(roles.split(' ').map((role) => [`node-role.kubernetes.io/${role}`, ''])),
          annotations: Object.fromEntries(set.map(([key, value]) => [`${MCO_GROUP}/${key}`, value])),
          managedFields: age === '' ? [] : [{ manager: 'kubectl-annotate', time: toTime(age.slice(1)), fieldsV1 }],
        },
      };
    },
  );
  const pools = list('P').map(([name = '', spec = '-', status = '-', counts = '', ...more]) => {
    const [machineCount, updatedMachineCount, readyMachineCount, degradedMachineCount] = counts.split('/').map(Number);
    const toConfiguration = (part: string) => (part === '-' ? {} : { name: spell(part, name) });
    const conditions = more.flatMap((part) => {
      const [, type = '', minutes = '5', message = ''] = /^([A-Z]\w+)(?:@(\d+))?(?:=(.*))?$/.exec(part) ?? [];
      const isTrue = type === 'Updated' ? 'False' : 'True';
      return type === ''
        ? []
        : [{ type, status: isTrue, message: spell(message, name), reason: '', lastTransitionTime: toTime(minutes) }];
    });
    const age = more.find((part) => part.startsWith('@'))?.slice(1) ?? 120;
    return {
      metadata: { name, creationTimestamp: toTime(age) },
      spec: {
        configuration: {
          ...toConfiguration(spec),
          source: [{ name: `00-${name}` }, { name: '99-okd-disable-mitigations' }],
        },
        nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
        paused: more.includes('paused'),
      },
      status: {
        configuration: toConfiguration(status),
        machineCount,
        updatedMachineCount,
        readyMachineCount,
        degradedMachineCount,
        conditions,
      },
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

/** Replaces the names of configs by their letters. */
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

const LAST_RESORT = (nodes: string, config: string) =>
  `# oc annotate node ${nodes} currentConfig=${config} desiredConfig=${config}`;
const FORCE = (node: string) => `# oc debug node/${node} -- chroot /host touch /run/machine-config-daemon-force`;
const toConfiguration = (name: string) => `{"configuration":{"name":"${name}"}}`;
export const SET_STATUS = (pool: string, config: string) =>
  `oc patch machineconfigpool ${pool} --subresource=status --type=merge -p {"status":${toConfiguration(config)}}`;
export const SET_SPEC = (pool: string, config: string) =>
  `oc patch machineconfigpool ${pool} --type=merge -p {"spec":${toConfiguration(config)}}`;

/** The codes, with a question mark if waiting can help, and the repairs. */
export const EXPECTED: Readonly<Record<StateName, readonly [codes: string, ...repairs: string[]]>> = {
  R1: ['ConfigMissing StatusEmpty', 'restore X --from node/control0', LAST_RESORT('control0 control1 control2', 'Y')],
  R2: ['ConfigMissing StatusEmpty', 'restore X --from node/control0', LAST_RESORT('control0', 'Y')],
  R7: ['ConfigMissing', 'restore X --from node/control0'],
  'R7-empty': ['ConfigMissing StatusEmpty', 'restore X --from node/control0'],
  R9: ['StatusEmpty?'],
  R12: ['ConfigMissing', 'restore X --from node/worker-0', LAST_RESORT('worker-0', 'Y')],
  R13: ['ConfigMissing PoolDegraded', SET_SPEC('worker', 'A'), 'oc annotate node worker-0 desiredConfig=A'],
  'R13-fixed': ['ConfigMissing', 'oc annotate node worker-0 desiredConfig=A'],
  R14: ['ConfigMissing?'],
  R17: [''],
  R18: ['NodeDegraded', 'oc annotate node worker-0 currentConfig=B', FORCE('worker-0')],
  R20: ['NotReported?'],
  R21: [''],
  'R21-gone': ['ConfigMissing', 'oc label node worker-4 worker=', 'restore X --from node/worker-4'],
  R22: [''],
  'R22-two': ['PoolConflict', 'oc label node worker-0 infra-'],
  R23: [''],
  R24: [''],
  R25: ['TooFewNodes?', 'oc adm certificate approve csr-8vnps'],
  R28: [''],
  R38: ['NodeDegraded', 'restore --from node/control1', FORCE('control1')],
  'R38-annotated': ['NodeDegraded?'],
  'R38-annotated long ago': ['NodeDegraded', 'restore --from node/control1', FORCE('control1')],
  'R7-restored': ['NodeDegraded?'],
  'two missing': [
    'ConfigMissing',
    'oc annotate node worker-0 desiredConfig=W',
    'restore X --from node/worker-0',
    '# oc annotate node worker-0 currentConfig=W',
  ],
  'no config of the pool': [
    'ConfigMissing StatusEmpty PoolDegraded',
    SET_SPEC('worker', 'A'),
    'oc annotate node worker-0 desiredConfig=A',
  ],
  'paused roll-out': [
    'StatusEmpty',
    'oc patch machineconfigpool master --type=merge -p {"spec":{"paused":false}}',
    SET_STATUS('master', 'X'),
  ],
  'every machine Degraded': ['NodeDegraded? StatusEmpty', SET_STATUS('master', 'Y')],
  'nothing moves': ['StatusEmpty', SET_STATUS('master', 'X')],
  'drain fails': ['NodeDegraded? PoolDegraded?'],
  'drain fails for long': ['NodeDegraded PoolDegraded'],
  Unreconcilable: ['NodeDegraded'],
  'cannot render': ['PoolDegraded'],
  typo: ['ConfigMissing', '# oc annotate node worker-0 currentConfig=W desiredConfig=W'],
};
