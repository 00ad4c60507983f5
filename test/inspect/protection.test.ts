import { describe, expect, test } from 'vitest';
import {
  assessProtection,
  type InstalledProtection,
  isAdmissionError,
  isDeniedByGuard,
  type PolicyBinding,
  type Protection,
} from '../../src/inspect/protection.ts';

const REGISTERED = {
  configuration: 'machineconfig-guard',
  failurePolicy: 'Fail',
  caBundle: true,
  injected: false,
  target: 'Service machineconfig-guard/machineconfig-guard:443',
};
const DEV = { ...REGISTERED, configuration: 'machineconfig-guard-dev-0123456789', failurePolicy: 'Ignore' };
const OPEN = { webhooks: [{ ...REGISTERED, failurePolicy: 'Ignore' }] };
const UNTRUSTED = { ...REGISTERED, failurePolicy: 'Ignore', caBundle: false };
const [NODES, POOLS] = ['nodes.machineconfig-guard.io', 'pools.machineconfig-guard.io'];
const FLOOR: PolicyBinding[] = [NODES, POOLS].map((policy) => ({ policy, actions: ['Deny'] }));
const WARNING_FLOOR = FLOOR.map(({ policy }) => ({ policy, actions: ['Warn', 'Audit'] }));

/** Messages of kube-apiserver. */
const DENIED = 'admission webhook "guard.machineconfig-guard.io" denied the request: ';
const URL = 'https://machineconfig-guard.machineconfig-guard.svc:443/validate?timeout=5s';
const FAILED =
  'Internal error occurred: failed calling webhook "guard.machineconfig-guard.io": ' +
  `failed to call webhook: Post "${URL}": `;
const deniedBy = (policy: string, reason: string): string =>
  'machineconfigs.machineconfiguration.openshift.io "x" is forbidden: ' +
  `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${reason}`;

function assess(
  status: number,
  message: string,
  installed: Partial<InstalledProtection> = {},
  referrer: Parameters<typeof assessProtection>[2] = 'Node',
): Protection {
  const guarded: InstalledProtection = { webhooks: [REGISTERED], floor: [], mode: 'Enforce' };
  return assessProtection({ status, message }, { ...guarded, ...installed }, referrer);
}

function matching(isProtected: boolean, by: string | undefined, explanation: RegExp, advice: RegExp): object {
  return {
    protected: isProtected,
    by: by ?? null,
    explanation: expect.stringMatching(explanation) as string,
    advice: expect.stringMatching(advice) as string,
  };
}

test.each<[string, string, Partial<InstalledProtection>, string, RegExp, RegExp]>([
  ['the guard', `${DENIED}MCG_IN_USE: x`, {}, 'guard', /^the guard denies.*in use$/, /^$/],
  [
    'the guard beside dev',
    `${DENIED}MCG_IN_USE: x`,
    { webhooks: [DEV, REGISTERED] },
    'guard',
    /in use$/,
    /^$/,
  ],
  [
    'dev',
    `${DENIED}MCG_IN_USE: x`,
    { webhooks: [DEV] },
    'guard',
    /only until "machineconfig-guard dev" stops/,
    /apply -k/,
  ],
  [
    'the policy of nodes',
    deniedBy(NODES, 'MCG_IN_USE: x'),
    { floor: FLOOR },
    'floor',
    /policy nodes\./,
    /^$/,
  ],
])('is protected if %s denies', (_name, message, installed, by, explanation, advice) => {
  expect(assess(403, message, installed)).toEqual(matching(true, by, explanation, advice));
});

describe('is not protected if the deletion is allowed', () => {
  test.each<[string, Partial<InstalledProtection>, RegExp, RegExp]>([
    ['nothing is installed', { webhooks: [] }, /neither the webhook nor the policies/, /^oc apply -k/],
    ['the mode is Warn', { mode: 'Warn' }, /^the deletion is allowed: the mode is Warn$/, /"Enforce"/],
    ['the guard fails open', OPEN, /could not call the guard, and its failurePolicy is Ignore$/, /get pods/],
    [
      'the guard fails open above a floor that warns',
      { ...OPEN, floor: WARNING_FLOOR },
      /Ignore; .* has Warn and/,
      /get pods/,
    ],
    [
      'the caBundle is not injected',
      { webhooks: [{ ...UNTRUSTED, injected: true }] },
      /no caBundle/,
      /wait for the/,
    ],
    ['the caBundle is missing', { webhooks: [UNTRUSTED] }, /no caBundle/, /manifests/],
    ['the registration is new', { mode: undefined }, /did not call the guard, although/, /retry/],
  ])('because %s', (_name, installed, explanation, advice) => {
    expect(assess(200, '', installed)).toEqual(matching(false, undefined, explanation, advice));
  });

  test.each<[string, Parameters<typeof assessProtection>[2], readonly PolicyBinding[], RegExp, RegExp]>([
    ['does not work', 'Node', FLOOR, /policy nodes\S+ did not deny/, /get validatingadmissionpolicy nodes\./],
    [
      'only warns',
      'MachineConfigPool',
      WARNING_FLOOR,
      /pools\S+ has Warn and Audit/,
      /patch \S+ pools\..*"Deny"/,
    ],
    [
      'is not bound',
      'MachineConfigPool',
      FLOOR.slice(0, 1),
      /policy pools\S+ has no binding$/,
      /policy-floor/,
    ],
    [
      'does not exist',
      'MachineOSBuild',
      FLOOR,
      /the policies do not check MachineOSBuilds$/,
      /overlays\/service-ca/,
    ],
  ])('because there is no webhook and the policy %s (%s)', (_name, referrer, floor, explanation, advice) => {
    const installed = { webhooks: [], floor, mode: undefined };
    expect(assess(200, '', installed, referrer)).toEqual(matching(false, undefined, explanation, advice));
  });
});

test.each<[string, number, string, RegExp, RegExp]>([
  [
    'the guard cannot verify',
    503,
    `${DENIED}MCG_UNVERIFIED: x`,
    /MCG_UNVERIFIED instead of MCG_IN_USE/,
    /log/,
  ],
  [
    'no pod is ready',
    500,
    `${FAILED}no endpoints available for service "x"`,
    /no guard pod is ready\. Configs in use are safe$/,
    /get pods/,
  ],
  [
    'there is no Service',
    500,
    `${FAILED}service "x" not found`,
    /the Service of the webhook does not exist/,
    /oc delete validatingwebhookc/,
  ],
  ['the guard is not trusted', 500, `${FAILED}tls: x509: unknown authority`, /does not trust/, /manifests/],
  [
    'the guard does not answer',
    500,
    `${FAILED}context deadline exceeded`,
    /cannot reach the guard/,
    /endpointslices/,
  ],
  [
    'a policy has no params yet',
    422,
    deniedBy(POOLS, 'failed to configure policy: x'),
    /policy pools\.\S+ fails/,
    /recovers/,
  ],
  [
    'a policy fails',
    422,
    deniedBy(NODES, 'no such key'),
    /policy nodes\.\S+ fails/,
    /get validatingadmission/,
  ],
  [
    'another webhook denies',
    403,
    'admission webhook "x.y" denied the request: no',
    /^denied by the webhook x\.y,/,
    /./,
  ],
  [
    'another policy denies',
    403,
    deniedBy('x.example.com', 'MCG_IN_USE'),
    /^denied by the policy x\.example\.com,/,
    /./,
  ],
  ['the reason is unknown', 403, 'no', /^denied by an unknown component,/, /./],
])('is not protected if %s', (_name, status, message, explanation, advice) => {
  expect(assess(status, message, { floor: FLOOR })).toEqual(matching(false, undefined, explanation, advice));
});

test.each([
  [`${FAILED}EOF`, true],
  [deniedBy(NODES, 'MCG_IN_USE: x'), true],
  ['etcdserver: request timed out', false],
])('isAdmissionError of %j is %s', (message, expected) => {
  expect(isAdmissionError({ status: 500, message })).toBe(expected);
});

test.each([
  [`${FAILED}EOF`, true],
  [`${DENIED}MCG_UNVERIFIED: x`, true],
  [deniedBy(NODES, 'no such key'), true],
  [deniedBy('x.example.com', 'no'), false],
  ['admission webhook "x.y" denied the request: no', false],
  ['no', false],
])('isDeniedByGuard of %j is %s', (message, expected) => {
  expect(isDeniedByGuard({ status: 403, message })).toBe(expected);
});
