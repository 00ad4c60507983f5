import { expect, test } from 'vitest';

import type { ReferrerKind } from '../../src/decision/references.ts';
import {
  type PolicyBinding,
  type InstalledProtection,
  isAdmissionError,
  assessProtection,
  type RegisteredWebhook,
} from '../../src/inspect/protection.ts';

const REGISTERED: RegisteredWebhook = {
  configuration: 'machineconfig-guard',
  failurePolicy: 'Fail',
  caBundle: true,
  injected: false,
  target: 'Service machineconfig-guard/machineconfig-guard:443',
};
const GUARDED: InstalledProtection = { webhooks: [REGISTERED], floor: [], mode: 'Enforce' };
const SESSION = { ...REGISTERED, configuration: 'machineconfig-guard-dev-0123456789', failurePolicy: 'Ignore' };
const [NODES, POOLS] = ['nodes.machineconfig-guard.io', 'pools.machineconfig-guard.io'];
const FLOOR: PolicyBinding[] = [
  { policy: NODES, actions: ['Deny'] },
  { policy: POOLS, actions: ['Deny'] },
];
const WARNING = FLOOR.map(({ policy }) => ({ policy, actions: ['Warn', 'Audit'] }));
const OPEN: Partial<InstalledProtection> = { webhooks: [{ ...REGISTERED, failurePolicy: 'Ignore' }] };
const bundleless = (injected: boolean): Partial<InstalledProtection> => ({
  webhooks: [{ ...REGISTERED, failurePolicy: 'Ignore', caBundle: false, injected }],
});

const HOOK = 'admission webhook "guard.machineconfig-guard.io" denied the request: ';
const FAILED =
  'Internal error occurred: failed calling webhook "guard.machineconfig-guard.io": failed to call webhook: Post "https://machineconfig-guard.machineconfig-guard.svc:443/validate?timeout=5s": ';
const policySays = (policy: string, text: string): string =>
  `machineconfigs.machineconfiguration.openshift.io "x" is forbidden: ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${text}`;

test.each<[string, string, Partial<InstalledProtection>, 'guard' | 'floor', RegExp, RegExp]>([
  ['by the guard', `${HOOK}MCG_IN_USE: x is in use`, {}, 'guard', /^the guard refuses.*in use$/, /^$/],
  ['by a guard and a session', `${HOOK}MCG_IN_USE: x`, { webhooks: [SESSION, REGISTERED] }, 'guard', /in use$/, /^$/],
  ['by a session alone', `${HOOK}MCG_IN_USE: x`, { webhooks: [SESSION] }, 'guard', /only until a session/, /apply -k/],
  ['by the policy of nodes', policySays(NODES, 'MCG_IN_USE: x'), { floor: FLOOR }, 'floor', /policy nodes\./, /^$/],
  ['by that of pools', policySays(POOLS, 'MCG_IN_USE: x'), { floor: FLOOR }, 'floor', /policy pools\./, /^$/],
  ['by the floor, whatever the mode', policySays(NODES, 'MCG_IN_USE: x'), { mode: 'Warn' }, 'floor', /policy/, /^$/],
])('refused %s: protected', (_name, message, installed, by, explanation, advice) => {
  expect(assessProtection({ status: 403, message }, { ...GUARDED, ...installed }, 'Node')).toEqual({
    isProtected: true,
    by,
    explanation: expect.stringMatching(explanation) as string,
    advice: expect.stringMatching(advice) as string,
  });
});

test.each<[string, Partial<InstalledProtection>, RegExp, RegExp]>([
  ['nothing is installed', { webhooks: [] }, /neither the webhook nor the policies/, /^oc apply -k/],
  ['mode Warn', { mode: 'Warn' }, /^it would be deleted: the mode is Warn$/, /"Enforce"/],
  ['mode Audit', { mode: 'Audit' }, /the mode is Audit$/, /"Enforce"/],
  ['mode Disabled', { mode: 'Disabled' }, /the mode is Disabled$/, /"Enforce"/],
  [
    'mode Warn above a floor',
    { mode: 'Warn', floor: FLOOR },
    /is Warn; the policy nodes\S+ did not refuse/,
    /"Enforce"/,
  ],
  ['the guard fails open', OPEN, /could not ask the guard, and its failurePolicy is Ignore$/, /get pods/],
  [
    'it fails open above a warning floor',
    { ...OPEN, floor: WARNING },
    /Ignore; .* says Warn and Audit instead/,
    /get pods/,
  ],
  ['it fails open, never yet trusted', bundleless(true), /no caBundle/, /wait for the caBundle/],
  ['it fails open, never to be trusted', bundleless(false), /no caBundle/, /manifests/],
  ['too early', {}, /did not ask the guard, although/, /try again/],
  ['too early, without a MachineConfigGuard', { mode: undefined }, /did not ask the guard, although/, /try again/],
])('it would be deleted, %s: not protected, why, and what to do', (_name, installed, why, advice) => {
  expect(assessProtection({ status: 200, message: '' }, { ...GUARDED, ...installed }, 'Node')).toEqual({
    isProtected: false,
    by: undefined,
    explanation: expect.stringMatching(why) as string,
    advice: expect.stringMatching(advice) as string,
  });
});

test.each<[string, ReferrerKind, readonly PolicyBinding[], RegExp, RegExp]>([
  [
    'is bound and does not work',
    'Node',
    FLOOR,
    /the policy nodes\S+ did not refuse/,
    /get validatingadmissionpolicy nodes\./,
  ],
  [
    'only warns',
    'Node',
    [...WARNING.slice(0, 1), ...FLOOR.slice(1)],
    /policy nodes\S+ says Warn and Audit instead of Deny$/,
    /patch \S+ nodes\..*"Deny"/,
  ],
  [
    'only warns',
    'MachineConfigPool',
    [...FLOOR.slice(0, 1), ...WARNING.slice(1)],
    /policy pools\S+ says Warn and Audit/,
    /patch \S+ pools\./,
  ],
  [
    'is not bound',
    'MachineConfigPool',
    FLOOR.slice(0, 1),
    /the policy pools\S+ has no binding$/,
    /overlays\/policy-floor/,
  ],
  ['is none', 'MachineOSBuild', FLOOR, /the policies know nothing of builds$/, /overlays\/service-ca/],
])(
  'no webhook, and the policy that should refuse %s (%s): why, and what to do',
  (_name, usedBy, floor, why, advice) => {
    expect(assessProtection({ status: 200, message: '' }, { webhooks: [], floor, mode: undefined }, usedBy)).toEqual({
      isProtected: false,
      by: undefined,
      explanation: expect.stringMatching(why) as string,
      advice: expect.stringMatching(advice) as string,
    });
  },
);

test.each<[string, number, string, RegExp, RegExp]>([
  [
    'could not verify',
    503,
    `${HOOK}MCG_UNVERIFIED: could not verify`,
    /MCG_UNVERIFIED where MCG_IN_USE was due/,
    /log/,
  ],
  ['another code', 403, `${HOOK}MCG_HELD: held`, /MCG_HELD where/, /./],
  ['no code', 403, `${HOOK}because`, /without a code/, /./],
  [
    'no endpoints',
    500,
    `${FAILED}no endpoints available for service "machineconfig-guard"`,
    /no pod of the guard is ready/,
    /get pods/,
  ],
  [
    'no service',
    500,
    `${FAILED}service "machineconfig-guard" not found`,
    /its Service is gone/,
    /oc delete validatingwebhookconfiguration/,
  ],
  [
    'not trusted',
    500,
    `${FAILED}tls: failed to verify certificate: x509: certificate signed by unknown authority`,
    /does not trust/,
    /manifests/,
  ],
  ['timed out', 500, `${FAILED}context deadline exceeded`, /cannot reach the guard/, /endpointslices/],
  [
    'the floor has no pools yet',
    422,
    policySays(POOLS, 'failed to configure policy: failed to find resource referenced by paramKind'),
    /the policy pools\.\S+ cannot decide/,
    /passes by itself/,
  ],
  [
    'the floor fails',
    422,
    policySays(NODES, "expression 'x' resulted in error: no such key"),
    /the policy nodes\.\S+ cannot decide/,
    /get validatingadmissionpolicy nodes\./,
  ],
  [
    'another webhook',
    403,
    'admission webhook "x.example.com" denied the request: MCG_IN_USE',
    /by the webhook x\.example\.com:/,
    /./,
  ],
  ['another policy', 403, policySays('x.example.com', 'MCG_IN_USE'), /by the policy x\.example\.com:/, /./],
  [
    'another webhook that fails',
    500,
    'failed calling webhook "x.example.com": no',
    /by the webhook x\.example\.com:/,
    /./,
  ],
  ['somebody unknown', 403, 'no', /by somebody else:/, /./],
])('refused, %s: not protected, why, and what to do', (_name, status, message, why, advice) => {
  expect(assessProtection({ status, message }, { ...GUARDED, floor: FLOOR }, 'Node')).toEqual({
    isProtected: false,
    by: undefined,
    explanation: expect.stringMatching(why) as string,
    advice: expect.stringMatching(advice) as string,
  });
});

test.each([
  [`${HOOK}MCG_IN_USE: x is in use`, true],
  [`${FAILED}EOF`, true],
  [policySays(NODES, 'MCG_IN_USE: x'), true],
  ['machineconfigs.machineconfiguration.openshift.io "x" not found', false],
  ['etcdserver: request timed out', false],
])('%s: is that somebody who had to agree? %s', (message, expected) => {
  expect(isAdmissionError({ status: 500, message })).toBe(expected);
});
