import { describe, expect, test } from 'vitest';
import {
  assessProtection,
  type InstalledProtection,
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
const DEV = {
  ...REGISTERED,
  configuration: 'machineconfig-guard-dev-0123456789',
  failurePolicy: 'Ignore',
};
const OPEN = { webhooks: [{ ...REGISTERED, failurePolicy: 'Ignore' }] };
const UNTRUSTED = { ...REGISTERED, failurePolicy: 'Ignore', caBundle: false };
const INJECTED = { ...UNTRUSTED, injected: true };
const [NODES, POOLS] = ['nodes.machineconfig-guard.io', 'pools.machineconfig-guard.io'];
const FLOOR: PolicyBinding[] = [NODES, POOLS].map((policy) => ({ policy, actions: ['Deny'] }));
const WARNING_FLOOR = FLOOR.map(({ policy }) => ({ policy, actions: ['Warn', 'Audit'] }));

/** Messages of kube-apiserver. */
const DENIED = 'admission webhook "guard.machineconfig-guard.io" denied the request: ';
const IN_USE = `${DENIED}MCG_IN_USE: x`;
const FAILED =
  'Internal error occurred: failed calling webhook "guard.machineconfig-guard.io": ' +
  'failed to call webhook: Post "https://a.b.svc:443/validate?timeout=5s": ';
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

function matching(state: string, by: string | null, explanation: RegExp, advice: RegExp): object {
  return {
    state,
    protected: by !== null,
    by,
    explanation: expect.stringMatching(explanation) as string,
    advice: expect.stringMatching(advice) as string,
  };
}

test.each<[string, string, Partial<InstalledProtection>, string, RegExp, RegExp]>([
  ['the guard', IN_USE, {}, 'guard', /^the guard denies.*in use$/, /^$/],
  ['the guard beside dev', IN_USE, { webhooks: [DEV, REGISTERED] }, 'guard', /in use$/, /^$/],
  ['dev', IN_USE, { webhooks: [DEV] }, 'guard', /only until ".* dev" stops/, /^install the guard/],
  ['a policy', deniedBy(NODES, 'MCG_IN_USE: x'), { floor: FLOOR }, 'floor', /policy nodes\./, /^$/],
])('is protected if %s denies', (_name, message, installed, by, explanation, advice) => {
  expect(assess(403, message, installed)).toEqual(matching('PROTECTED', by, explanation, advice));
});

describe('is exposed if the deletion is allowed', () => {
  test.each<[string, Partial<InstalledProtection>, RegExp, RegExp]>([
    [
      'nothing is installed',
      { webhooks: [] },
      /neither the webhook nor the policies/,
      /^install the guard/,
    ],
    ['the mode is Warn', { mode: 'Warn' }, /: the mode is Warn$/, /"Enforce"/],
    ['the guard fails open', OPEN, /could not call the guard, .* Ignore$/, /get pods/],
    ['the floor only warns too', { ...OPEN, floor: WARNING_FLOOR }, /Ignore; .* has Warn and/, /get pods/],
    ['the caBundle is not injected', { webhooks: [INJECTED] }, /no caBundle/, /wait for the/],
    ['the caBundle is missing', { webhooks: [UNTRUSTED] }, /no caBundle/, /manifests/],
    ['the registration is new', { mode: undefined }, /did not call the guard, although/, /retry/],
  ])('because %s', (_name, installed, explanation, advice) => {
    expect(assess(200, '', installed)).toEqual(matching('EXPOSED', null, explanation, advice));
  });

  test.each<[string, Parameters<typeof assessProtection>[2], readonly PolicyBinding[], RegExp, RegExp]>([
    ['does not work', 'Node', FLOOR, /policy nodes\S+ did not deny/, /policy nodes\./],
    ['only warns', 'MachineConfigPool', WARNING_FLOOR, /pools\S+ has Warn and Audit/, /patch .*"Deny"/],
    ['is not bound', 'MachineConfigPool', FLOOR.slice(0, 1), /pools\S+ has no binding$/, /policy-floor/],
    ['does not exist', 'MachineOSBuild', FLOOR, /do not check MachineOSBuilds$/, /^install the guard/],
  ])(
    'because there is no webhook and the policy %s (%s)',
    (_name, referrer, floor, explanation, advice) => {
      const installed = { webhooks: [], floor, mode: undefined };
      expect(assess(200, '', installed, referrer)).toEqual(matching('EXPOSED', null, explanation, advice));
    },
  );
});

test.each<[string, number, string, RegExp, RegExp]>([
  ['the guard cannot verify', 503, `${DENIED}MCG_UNVERIFIED: x`, /MCG_UNVERIFIED instead of/, /log/],
  ['no pod is ready', 500, `${FAILED}no endpoints available`, /no .* ready\. .* are safe$/, /get pods/],
  ['there is no Service', 500, `${FAILED}service "x" not found`, /Service .* not exist/, /oc delete/],
  ['the guard is not trusted', 500, `${FAILED}x509: unknown`, /does not trust/, /manifests/],
  ['the guard does not answer', 500, `${FAILED}EOF`, /cannot reach the guard/, /endpointslices/],
  ['a policy has no params', 422, deniedBy(POOLS, 'failed to configure'), /pools\S+ fails/, /recovers/],
  ['a policy fails', 422, deniedBy(NODES, 'no such key'), /nodes\S+ fails/, /get validatingadmission/],
])('is blocked if %s', (_name, status, message, explanation, advice) => {
  expect(assess(status, message, { floor: FLOOR })).toEqual(
    matching('BLOCKED', null, explanation, advice),
  );
});

test.each([
  ['the webhook x.y', 'admission webhook "x.y" denied the request: no'],
  ['the policy x.example.com', deniedBy('x.example.com', 'MCG_IN_USE')],
  ['an unknown component', 'no'],
])('is unknown if %s denies', (denier, message) => {
  const explanation = new RegExp(`^denied by ${denier},`);
  expect(assess(403, message, { floor: FLOOR })).toEqual(
    matching('UNKNOWN', null, explanation, /^see the answer/),
  );
});
