import { expect } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../../src/api/annotations.ts';
import { GUARDS_PATH, INSTALLED_NAME } from '../../../src/api/paths.ts';
import { WEBHOOK_CONFIGURATIONS_PATH } from '../../../src/kube/api-paths.ts';
import { MACHINE_CONFIGS_PATH, POOLS_PATH } from '../../../src/mco/api-paths.ts';
import { NODE_FIELDS, POOL_FIELDS } from '../../../src/mco/referrer.ts';
import { operatorAnnotations } from '../../support/operator-objects.ts';
import { evaluatePolicy, type PolicyRequest } from './evaluate-policy.ts';
import type { Installed, Relation } from './relation.ts';

const NODES_PATH = '/api/v1/nodes';
const HASH = '0123456789abcdef'.repeat(2);
const CONFIG = `rendered-worker-${HASH}`;
const OTHER = `rendered-infra-${HASH}`;
const OPERATOR = 'system:serviceaccount:openshift-machine-config-operator:machine-config-';
const GITOPS = 'system:serviceaccount:openshift-gitops:x';
const GUARD = `system:serviceaccount:${INSTALLED_NAME}:${INSTALLED_NAME}`;

type Case = readonly [condition: string, request: PolicyRequest, answer: string];

function toNode(currentConfig?: string, desiredConfig?: string) {
  return annotateNode({ currentConfig, desiredConfig });
}

function annotateNode(values: object) {
  return { metadata: { name: 'node0', annotations: operatorAnnotations(values) } };
}

function toPool(spec?: string, status?: string, metadata: object = {}) {
  return {
    metadata: { name: 'worker', ...metadata },
    ...(spec !== undefined && { spec: { configuration: { name: spec } } }),
    ...(status !== undefined && { status: { configuration: { name: status } } }),
  };
}

/** The deletion of a config, with one node or pool. */
function deleteConfig(
  params: object,
  { name = CONFIG, reason }: { name?: string; reason?: string } = {},
): PolicyRequest {
  const annotations = reason === undefined ? {} : { [ALLOW_DELETION_ANNOTATION]: reason };
  return { operation: 'DELETE', resource: 'machineconfigs', oldObject: { metadata: { name, annotations } }, params };
}

function update(
  resource: 'nodes' | 'machineconfigpools',
  oldObject: object,
  object: object,
  user = 'admin',
): PolicyRequest {
  return {
    operation: 'UPDATE',
    resource,
    kind: resource === 'nodes' ? 'Node' : 'MachineConfigPool',
    oldObject,
    object,
    user,
  };
}

function annotate(operation: 'CREATE' | 'UPDATE', before: string, after: string, mayDelete = false): PolicyRequest {
  const toObject = (reason: string) => {
    return { metadata: { name: CONFIG, annotations: reason === '' ? {} : { [ALLOW_DELETION_ANNOTATION]: reason } } };
  };
  const old = operation === 'UPDATE' && { oldObject: toObject(before) };
  return { operation, resource: 'machineconfigs', object: toObject(after), ...old, mayDelete };
}

function deleteWebhook(options: Partial<PolicyRequest> = {}, name = INSTALLED_NAME, reason = ''): PolicyRequest {
  const oldObject = { metadata: { name, annotations: reason === '' ? {} : { [ALLOW_DELETION_ANNOTATION]: reason } } };
  return { operation: 'DELETE', resource: 'validatingwebhookconfigurations', oldObject, ...options };
}

function createSettings(metadata: object, spec: object = { mode: 'Enforce' }, user = GUARD): PolicyRequest {
  return {
    operation: 'CREATE',
    resource: 'machineconfigguards',
    object: { metadata: { name: 'cluster', ...metadata }, spec },
    user,
  };
}

const deletePool = (machineCount?: number): PolicyRequest => {
  const status = machineCount === undefined ? {} : { machineCount };
  return { operation: 'DELETE', resource: 'machineconfigpools', oldObject: { ...toPool(), status } };
};

/** A relation for each policy: what it answers, with the start of the text of a denial. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  nodes: [
    ...NODE_FIELDS.map((field): Case => {
      const request = deleteConfig(annotateNode({ currentConfig: OTHER, desiredConfig: OTHER, [field]: CONFIG }));
      return [`${field} names it`, request, `denied MCG_IN_USE: ${CONFIG} is in use by node node0 (${field}) `];
    }),
    [
      'both name the config',
      deleteConfig(toNode(CONFIG, CONFIG)),
      `denied MCG_IN_USE: ${CONFIG} is in use by node node0 (currentConfig, desiredConfig) `,
    ],
    ['no field names the config', deleteConfig(toNode(OTHER, OTHER)), 'allowed'],
    ['a new node has no annotation', deleteConfig(toNode()), 'allowed'],
    ['the config has a reason', deleteConfig(toNode(CONFIG), { reason: ' ticket 1 ' }), 'allowed'],
    ['the reason is empty', deleteConfig(toNode(CONFIG), { reason: ' \u00A0\u200B' }), 'denied MCG_IN_USE: '],
    ['the config is a source', deleteConfig(toNode('00-worker'), { name: '00-worker' }), 'unmatched'],
  ],
  pools: [
    ...POOL_FIELDS.map((field): Case => {
      const request = deleteConfig({ ...toPool(OTHER, OTHER), [field]: { configuration: { name: CONFIG } } });
      return [`the ${field} names it`, request, `denied MCG_IN_USE: ${CONFIG} is in use by pool worker (${field}) `];
    }),
    ['a new pool has neither', deleteConfig(toPool()), 'allowed'],
    ['no field names the config', deleteConfig(toPool(OTHER, OTHER)), 'allowed'],
    ['the pool is being deleted', deleteConfig(toPool(CONFIG, CONFIG, { deletionTimestamp: 'now' })), 'allowed'],
    ['the config has a reason', deleteConfig(toPool(CONFIG), { reason: 'x' }), 'allowed'],
    ['the config is a source', deleteConfig(toPool('00-worker'), { name: '00-worker' }), 'unmatched'],
  ],
  references: [
    [
      'a node gets a wrong name',
      update('nodes', toNode(CONFIG), toNode('rendered-x')),
      'denied MCG_UNKNOWN_CONFIG: node node0 (currentConfig) would name "rendered-x"',
    ],
    [
      'a pool gets a wrong name',
      update('machineconfigpools', toPool(CONFIG), toPool('00-worker')),
      'denied MCG_UNKNOWN_CONFIG: pool worker (spec) would name "00-worker"',
    ],
    ['a node gets a config', update('nodes', toNode(CONFIG), toNode(CONFIG, OTHER)), 'allowed'],
    ['a pool gets a config', update('machineconfigpools', toPool(CONFIG), toPool(OTHER)), 'allowed'],
    ['a field is removed', update('nodes', toNode(CONFIG), toNode()), 'allowed'],
    ['all annotations are removed', update('nodes', toNode(CONFIG), { metadata: { name: 'node0' } }), 'allowed'],
    ['a wrong name was there before', update('nodes', toNode('x', CONFIG), toNode('x', OTHER)), 'allowed'],
    ['nothing changes', update('nodes', toNode('x'), toNode('x')), 'unmatched'],
    ...['daemon', 'controller'].map((account): Case => {
      return [`the ${account} writes`, update('nodes', toNode(CONFIG), toNode('x'), OPERATOR + account), 'unmatched'];
    }),
    [
      'GitOps writes a wrong name',
      update('machineconfigpools', toPool(CONFIG), toPool('x'), GITOPS),
      'denied MCG_UNKNOWN_CONFIG: pool worker (spec) ',
    ],
    ['a node is created', { ...update('nodes', toNode(), toNode('x')), operation: 'CREATE' }, 'unmatched'],
  ],
  overrides: [
    ['a reason is set', annotate('UPDATE', '', 'x'), 'denied admin may not delete machineconfig '],
    ['a reason changes', annotate('UPDATE', 'y', 'x'), 'denied admin may not delete machineconfig '],
    ['a config is created with a reason', annotate('CREATE', '', 'x'), 'denied admin may not delete machineconfig '],
    ['the user may delete the config', annotate('UPDATE', '', 'x', true), 'allowed'],
    ['the reason stays', annotate('UPDATE', 'x', 'x'), 'unmatched'],
    ['the reason is removed', annotate('UPDATE', 'x', ''), 'unmatched'],
    ['a config is created without a reason', annotate('CREATE', '', ''), 'unmatched'],
  ],
  'pool-deletion': [
    ['the pool has machines', deletePool(3), 'denied pool worker still has 3 machines. '],
    ['the pool has no machine', deletePool(0), 'allowed'],
    ['the pool has no status', deletePool(), 'allowed'],
  ],
  'webhook-deletion': [
    ['there is no reason', deleteWebhook(), 'denied without its webhook configuration, the guard protects nothing. '],
    ['there is a reason', deleteWebhook({}, INSTALLED_NAME, 'x'), 'allowed'],
    ['it is a dry run', deleteWebhook({ isDryRun: true }), 'unmatched'],
    ['it is another webhook', deleteWebhook({}, 'other'), 'unmatched'],
    ['GitOps deletes it', deleteWebhook({ user: GITOPS }), 'unmatched'],
    [
      'a Policy deletes it',
      deleteWebhook({ user: 'system:serviceaccount:open-cluster-management-agent-addon:x' }),
      'unmatched',
    ],
  ],
  settings: [
    ['the guard creates the defaults', createSettings({}), 'allowed'],
    [
      'the guard creates another mode',
      createSettings({}, { mode: 'Disabled' }),
      'denied the guard may create only the MachineConfigGuard "cluster" ',
    ],
    [
      'the guard creates another hold',
      createSettings({}, { mode: 'Enforce', holdSuperseded: '0s' }),
      'denied the guard may create only the MachineConfigGuard "cluster" ',
    ],
    [
      'the guard creates another object',
      createSettings({ name: 'other' }),
      'denied the guard may create only the MachineConfigGuard "cluster" ',
    ],
    ...['finalizers', 'ownerReferences', 'labels', 'annotations'].map((field): Case => {
      return [
        `the guard adds ${field}`,
        createSettings({ [field]: {} }),
        'denied the guard may create only a MachineConfigGuard whose metadata ',
      ];
    }),
    ['an administrator creates another mode', createSettings({}, { mode: 'Disabled' }, 'admin'), 'unmatched'],
  ],
};
/** The audit annotation of a policy, for its first denial and its first allowed reason. */
const DENIED_IN_USE = { denied: JSON.stringify({ name: CONFIG, code: 'MCG_IN_USE' }) };
const OVERRIDDEN = { overridden: JSON.stringify({ name: CONFIG, code: 'MCG_OVERRIDDEN', reason: 'ticket 1' }) };

/** The writes that each policy is about, by the paths of their kinds. */
const WRITES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  nodes: { [MACHINE_CONFIGS_PATH]: ['DELETE'] },
  pools: { [MACHINE_CONFIGS_PATH]: ['DELETE'] },
  references: { [NODES_PATH]: ['UPDATE'], [POOLS_PATH]: ['UPDATE'] },
  overrides: { [MACHINE_CONFIGS_PATH]: ['CREATE', 'UPDATE'] },
  'pool-deletion': { [POOLS_PATH]: ['DELETE'] },
  'webhook-deletion': { [WEBHOOK_CONFIGURATIONS_PATH]: ['DELETE'] },
  settings: { [GUARDS_PATH]: ['CREATE'] },
};

export const POLICY_ANSWERS: readonly Relation[] = [
  {
    rule: 'each policy gets the writes that it is about, in every version of their kinds, and denies them as forbidden',
    check: (installed) => {
      for (const [name, writes] of Object.entries(WRITES))
        for (const { spec } of listPolicies(installed, name)) {
          const rules = Object.entries(writes).map(([path, operations]) => {
            const [, root, group = '', , resource = ''] = path.split('/');
            const isCore = root === 'api';
            return {
              apiGroups: [isCore ? '' : group],
              apiVersions: [isCore ? 'v1' : '*'],
              operations,
              resources: [isCore ? path.split('/').at(-1) : resource],
              scope: 'Cluster',
            };
          });
          expect(spec?.matchConstraints?.resourceRules, name).toEqual(rules);
          expect(['Equivalent', undefined]).toContain(spec?.matchConstraints?.matchPolicy);
          for (const { reason } of spec?.validations ?? [])
            expect(reason, name).toBe(name === 'pool-deletion' ? undefined : 'Forbidden');
        }
    },
  },
  {
    rule: 'each policy denies, except for the one that only warns whoever deletes a pool',
    check: (installed) => {
      for (const { metadata, spec } of installed.list('ValidatingAdmissionPolicyBinding')) {
        const isWarning = metadata.name.startsWith('pool-deletion');
        expect(spec?.validationActions, metadata.name).toEqual(isWarning ? ['Warn', 'Audit'] : ['Deny']);
      }
    },
  },
  ...Object.entries(CASES).map(([name, cases]): Relation => {
    return {
      rule: `the policy ${name} answers as its cases say`,
      check: (installed) => {
        for (const policy of listPolicies(installed, name))
          for (const [condition, request, expected] of cases) {
            const { verdict, message } = evaluatePolicy(policy, request);
            const answer = `${verdict} ${message}`.trim();
            expect(answer, condition).toMatch(toStart(expected));
          }
      },
    };
  }),
  {
    rule: 'the policies of the floor record a denial and an override as the guard does',
    check: (installed) => {
      for (const [name, params] of [
        ['nodes', toNode(CONFIG)],
        ['pools', toPool(CONFIG)],
      ] as const)
        for (const policy of listPolicies(installed, name)) {
          expect(evaluatePolicy(policy, deleteConfig(params)).audit).toEqual(DENIED_IN_USE);
          expect(evaluatePolicy(policy, deleteConfig(params, { reason: ' ticket  1\n' })).audit).toEqual(OVERRIDDEN);
          expect(evaluatePolicy(policy, deleteConfig({ metadata: {} }, { reason: 'x' })).audit).toEqual({});
        }
    },
  },
];

/** Those with the defaults of the settings. */
function listPolicies(installed: Installed, name: string) {
  const all = installed.list('ValidatingAdmissionPolicy').filter(({ metadata, spec }) => {
    return metadata.name === `${name}.machineconfig-guard.io` && !hasOwnSettings(spec?.variables);
  });
  const byText = new Map(all.map((policy) => [JSON.stringify(policy.spec), policy]));
  expect(byText.size).toBeGreaterThan(0);
  return [...byText.values()];
}

/** `render --mode` and `--hold` change the policy of the settings. */
function hasOwnSettings(variables: readonly { readonly name: string; readonly expression: string }[] = []): boolean {
  return variables.some(({ name, expression }) => {
    return (name === 'mode' && expression === "'Audit'") || (name === 'holdSuperseded' && expression === "'24h'");
  });
}

function toStart(text: string): RegExp {
  const pattern = text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  return new RegExp(text.startsWith('denied') ? `^${pattern}` : `^${pattern}$`);
}
