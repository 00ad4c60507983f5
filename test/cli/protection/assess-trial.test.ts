import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { describe, expect, test } from 'vitest';
import { assessProtection, type TrialResponse } from '../../../src/cli/protection/assess-trial.ts';
import type { Protection } from '../../../src/cli/protection/diagnosis.ts';
import type { Evidence, PolicyBinding, RegisteredWebhook } from '../../../src/cli/protection/evidence.ts';

const REGISTERED: RegisteredWebhook = {
  configuration: 'machineconfig-guard',
  failurePolicy: 'Fail',
  caBundle: true,
  injected: false,
  installation: 'rendered',
  target: 'Service machineconfig-guard/machineconfig-guard:443',
};
const DEV: RegisteredWebhook = {
  ...REGISTERED,
  configuration: 'machineconfig-guard-dev-0123456789',
  failurePolicy: 'Ignore',
  installation: 'dev',
};
const OPEN = { webhooks: [{ ...REGISTERED, failurePolicy: 'Ignore' }] };
const UNTRUSTED = { ...REGISTERED, failurePolicy: 'Ignore', caBundle: false };
const INJECTED = { ...UNTRUSTED, injected: true, installation: 'service-ca' } as const;
const SERVICE_CA = { webhooks: [{ ...REGISTERED, installation: 'service-ca' as const }] };
const CERT_MANAGER = { webhooks: [{ ...REGISTERED, installation: 'cert-manager' as const }] };
const HOST_NETWORK = { deployment: { replicas: 2, readyReplicas: 2, hostNetwork: true } };
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

const FLOOR_IN_USE = deniedBy(NODES, 'MCG_IN_USE: x');
const UNVERIFIED = `${DENIED}MCG_UNVERIFIED: x`;
const ALLOWED: TrialResponse = { status: 200, message: '' };
const KYVERNO = 'admission webhook "validate.kyverno.svc-fail" denied the request: no';

const COMMANDS = new CommandFormatter('machineconfig-guard', {});

function assess(
  status: number,
  message: string,
  installed: Partial<Evidence> = {},
  referrer: Parameters<typeof assessProtection>[2] = 'Node',
  unused: TrialResponse | null = null,
): Omit<Protection, 'advice'> & { readonly advice: string } {
  const guarded: Evidence = {
    namespace: 'mcg',
    webhooks: [REGISTERED],
    floor: [],
    mode: 'Enforce',
    deployment: undefined,
  };
  const protection = assessProtection({ status, message }, { ...guarded, ...installed }, referrer, unused);
  const { advice } = protection;
  return { ...protection, advice: advice === null ? '' : COMMANDS.toClause(advice) };
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

test.each<[string, string, Partial<Evidence>, string, RegExp, RegExp]>([
  ['the guard', IN_USE, {}, 'guard', /^the guard denies.*in use$/, /^$/],
  ['the guard beside dev', IN_USE, { webhooks: [DEV, REGISTERED] }, 'guard', /in use$/, /^$/],
  ['dev', IN_USE, { webhooks: [DEV] }, 'guard', /only until the command dev stops/, /^install the guard/],
  ['a policy', FLOOR_IN_USE, { floor: FLOOR }, 'floor', /^the policy nodes\..*before the API server/, /^$/],
  [
    'a policy, and the guard is not installed,',
    FLOOR_IN_USE,
    { webhooks: [], floor: FLOOR },
    'floor',
    /^only the policy nodes\.\S+ denies .* in use: the guard is not installed\. The policies can miss a new reference/,
    /^install the guard/,
  ],
  [
    'a policy, and the mode is Warn,',
    FLOOR_IN_USE,
    { floor: FLOOR, mode: 'Warn' },
    'floor',
    /^only the policy .*: the mode of the guard is Warn\. The policies/,
    /"Enforce"/,
  ],
])('is protected if %s denies', (_name, message, installed, by, explanation, advice) => {
  expect(assess(403, message, installed)).toEqual(matching('PROTECTED', by, explanation, advice));
});

describe('is exposed if the deletion is allowed', () => {
  test.each<[string, Partial<Evidence>, RegExp, RegExp]>([
    ['nothing is installed', { webhooks: [] }, /: the guard is not installed$/, /^install the guard/],
    ['the mode is Warn', { mode: 'Warn' }, /: the mode of the guard is Warn$/, /"Enforce"/],
    ['the guard fails open', OPEN, /could not call the guard, .* Ignore$/, /get pods/],
    ['the floor only warns too', { ...OPEN, floor: WARNING_FLOOR }, /Ignore; .* has Warn and/, /get pods/],
    ['the caBundle is not injected', { webhooks: [INJECTED] }, /no caBundle/, /wait until the service CA/],
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
  ])('because there is no webhook and the policy %s (%s)', (_name, referrer, floor, explanation, advice) => {
    const installed = { webhooks: [], floor, mode: undefined };
    expect(assess(200, '', installed, referrer)).toEqual(matching('EXPOSED', null, explanation, advice));
  });
});

test.each<[string, number, string, RegExp, RegExp]>([
  ['the guard cannot verify', 503, UNVERIFIED, /cannot list .* \(MCG_UNVERIFIED\)\. .* are safe$/, /logs/],
  ['the guard answers otherwise', 400, `${DENIED}MCG_BAD_REVIEW: x`, /MCG_BAD_REVIEW instead of/, /answer/],
  ['no pod is ready', 500, `${FAILED}no endpoints available`, /no .* ready\. .* are safe$/, /get pods/],
  ['there is no Service', 500, `${FAILED}service "x" not found`, /Service .* not exist/, /oc delete/],
  ['the guard is not trusted', 500, `${FAILED}x509: unknown`, /does not trust/, /manifests/],
  ['the guard does not answer', 500, `${FAILED}EOF`, /cannot reach the guard/, /endpointslices/],
  ['a policy has no params', 422, deniedBy(POOLS, 'failed to configure'), /pools\S+ fails/, /recovers/],
  ['a policy fails', 422, deniedBy(NODES, 'no such key'), /nodes\S+ fails/, /get validatingadmission/],
])('is blocked if %s', (_name, status, message, explanation, advice) => {
  expect(assess(status, message, { floor: FLOOR })).toEqual(matching('BLOCKED', null, explanation, advice));
});

test.each<[string, string, Partial<Evidence>, RegExp]>([
  ['the service CA', 'x509: unknown', SERVICE_CA, /^wait until the service CA .* get pods -n openshift-service-ca$/],
  ['cert-manager', 'x509: unknown', CERT_MANAGER, /^wait until cert-manager .* get certificates -n mcg$/],
  ['render', 'x509: unknown', {}, /^apply all manifests of one rendering again$/],
  ['render', 'service "x" not found', {}, /^apply the rendered manifests again, .* machineconfig-guard$/],
  ['an overlay', 'service "x" not found', SERVICE_CA, /^apply the overlay again, or remove the webhook: oc /],
  ['the host network', 'i/o timeout', HOST_NETWORK, /reach port 9843 .*-o wide/],
])('advises what fits an installation with %s, if the call fails with %s', (_kind, error, installed, advice) => {
  expect(assess(500, `${FAILED}${error}`, installed).advice).toMatch(advice);
});

test('advises to start dev again if only dev is registered and does not answer', () => {
  const { state, advice } = assess(200, '', { webhooks: [DEV] });
  expect([state, advice]).toEqual(['EXPOSED', expect.stringMatching(/^start the command dev again.*-0123/)]);
});

test.each([
  ['the guard', IN_USE],
  ['the floor', FLOOR_IN_USE],
])('is blocked if %s denies a config in use, and the guard cannot verify any other', (_denier, message) => {
  const noPod = { status: 500, message: `${FAILED}no endpoints available` };
  const blocked = assess(403, message, { floor: FLOOR }, 'Node', noPod);
  expect(blocked).toEqual(matching('BLOCKED', null, /no guard pod is ready/, /get pods/));
  const unverified = assess(403, message, {}, 'Node', { status: 503, message: UNVERIFIED });
  expect(unverified).toEqual(matching('BLOCKED', null, /MCG_UNVERIFIED/, /logs/));
  const held = { status: 403, message: `${DENIED}MCG_HELD: x` };
  expect(assess(403, message, {}, 'Node', held).state).toBe('PROTECTED');
});

test.each([
  ['the webhook validate.kyverno.svc-fail', KYVERNO],
  ['the webhook x.y', KYVERNO.replace(/"\S+"/, '"x.y"')],
  ['the policy x.example.com', deniedBy('x.example.com', 'no')],
])('says that only %s protects', (denier, message) => {
  const protection = assess(403, message, { webhooks: [] }, 'Node', ALLOWED);
  const limits = 'docs/alternatives.md explains what other policies can miss';
  const explanation = `only ${denier} denies the deletion of a config in use: the guard is not installed; ${limits}`;
  expect(protection).toEqual({
    state: 'PROTECTED',
    protected: true,
    by: 'other',
    explanation,
    advice: expect.stringMatching(/^install the guard /) as string,
  });
});

test.each<[string, Partial<Evidence>, string, TrialResponse | null]>([
  ['the guard enforces', {}, KYVERNO, ALLOWED],
  ['other deletions are denied, too', { webhooks: [] }, KYVERNO, { status: 403, message: KYVERNO }],
  ['there is no unused config', { webhooks: [] }, KYVERNO, null],
  ['its call failed', { webhooks: [] }, 'failed calling webhook "validate.kyverno.svc-fail": EOF', ALLOWED],
])('does not know whether a policy engine protects if %s', (_case, installed, message, unused) => {
  const { state, explanation } = assess(403, message, installed, 'Node', unused);
  expect([state, explanation]).toEqual([
    'UNKNOWN',
    expect.stringMatching(/^denied by the webhook validate\.kyverno\.svc-fail/),
  ]);
});

test.each([
  ['the webhook x.y', 'admission webhook "x.y" denied the request: no'],
  ['the policy x.example.com', deniedBy('x.example.com', 'MCG_IN_USE')],
  ['an unknown component', 'no'],
])('is unknown if %s denies', (denier, message) => {
  const explanation = new RegExp(`^denied by ${denier},`);
  expect(assess(403, message, { floor: FLOOR })).toEqual(matching('UNKNOWN', null, explanation, /^see the answer/));
});
