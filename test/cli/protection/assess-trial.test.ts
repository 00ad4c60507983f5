import { expect, test } from 'vitest';
import { assessTrial, type TrialResponse } from '../../../src/cli/protection/assess-trial.ts';
import type { Evidence } from '../../../src/cli/protection/evidence.ts';
import { DEV, expectProtection, FLOOR, GUARDED, inMode, NO_POD, OPEN, WEBHOOK } from './guarded-evidence.ts';

/** Messages of kube-apiserver. */
const DENIED = 'admission webhook "guard.machineconfig-guard.io" denied the request: ';
const IN_USE = `${DENIED}MCG_IN_USE: x`;
const UNVERIFIED = `${DENIED}MCG_UNVERIFIED: x`;
const KYVERNO = 'admission webhook "validate.kyverno.svc-fail" denied the request: no';
const FAILED =
  'Internal error occurred: failed calling webhook "guard.machineconfig-guard.io": ' +
  'failed to call webhook: Post "https://a.b.svc:443/validate?timeout=5s": ';
const deniedBy = (policy: string, reason: string): string =>
  'machineconfigs.machineconfiguration.openshift.io "x" is forbidden: ' +
  `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${reason}`;
const NODES = 'nodes.machineconfig-guard.io';
const FLOOR_IN_USE = deniedBy(NODES, 'MCG_IN_USE: x');
const ALLOWED: TrialResponse = { status: 200, message: '' };
const deny = (message: string): TrialResponse => ({ status: 403, message });

const ABSENT = { webhooks: [] };
const FLOOR_ONLY = { ...ABSENT, floor: FLOOR };
const FOREIGN = deniedBy('x.example.com', 'no');
const NO_BUNDLE = { ...OPEN, caBundle: false };
const SERVICE_CA = { ...WEBHOOK, installation: 'service-ca' } as const;
const CERT_MANAGER = { ...WEBHOOK, installation: 'cert-manager' } as const;

type Case = readonly [string, string, Partial<Evidence>, string | null, RegExp, RegExp];

test.each<Case>([
  ['the guard denies', IN_USE, {}, 'guard', /^the guard denies.*in use$/, /^$/],
  ['the guard holds the config, which is in use no more,', `${DENIED}MCG_HELD: x`, {}, 'guard', /denies/, /^$/],
  ['the guard beside dev denies', IN_USE, { webhooks: [DEV, WEBHOOK] }, 'guard', /in use$/, /^$/],
  ['dev denies', IN_USE, { webhooks: [DEV] }, 'guard', /only until the command dev stops/, /^install the guard/],
  ['a policy denies', FLOOR_IN_USE, { floor: FLOOR }, 'floor', /^the policy nodes\..*before the API server/, /^$/],
  ['only a policy is installed', FLOOR_IN_USE, FLOOR_ONLY, 'floor', /^only the policy nodes.* is not inst/, /^inst/],
  ['the mode is Warn', FLOOR_IN_USE, { floor: FLOOR, ...inMode('Warn') }, 'floor', /^only .* is Warn\. /, /"Enforce"/],
  ['only Kyverno denies', KYVERNO, ABSENT, 'other', /^only the webhook validate\.kyverno\.svc-fail denies/, /^install/],
  ['only a foreign policy denies', FOREIGN, ABSENT, 'other', /^only the policy x\..*#other-policies/, /^inst/],
])('is protected if %s', (_case, message, changes, by, explanation, advice) => {
  const protection = assessTrial(deny(message), { ...GUARDED, ...changes }, 'Node', ALLOWED);
  expectProtection(protection, 'PROTECTED', by, explanation, advice);
});

test.each<[string, Partial<Evidence>, Parameters<typeof assessTrial>[2], RegExp, RegExp]>([
  ['nothing is installed', ABSENT, 'Node', /deleted: the guard is not installed$/, /^install the guard/],
  ['the guard fails open', { webhooks: [OPEN] }, 'Node', /could not call the guard, .* Ignore$/, /get pods/],
  ['no pod runs', { webhooks: [OPEN], deployment: NO_POD }, 'Node', /no guard pod is ready, and its fail/, /get pods/],
  ['the caBundle is missing', { webhooks: [NO_BUNDLE] }, 'Node', /no caBundle/, /manifests/],
  ['dev stopped', { webhooks: [DEV] }, 'Node', /could not call/, /^start the command dev again.*delete.*-0123456789$/],
  ['the registration is new', {}, 'Node', /did not call the guard, although/, /retry/],
  ['no webhook is readable', { webhooks: undefined }, 'Node', /you may not list/, /reader/],
  ['the policy does not work', FLOOR_ONLY, 'Node', /floor did not deny it/, /get validatingadmissionpolicies/],
  ['policies check no builds', FLOOR_ONLY, 'MachineOSBuild', /do not check MachineOSBuilds$/, /^install the guard/],
])('is exposed if the deletion is allowed because %s', (_case, changes, kind, explanation, advice) => {
  const protection = assessTrial(ALLOWED, { ...GUARDED, ...changes }, kind, undefined);
  expectProtection(protection, 'EXPOSED', null, explanation, advice);
});

test.each<[string, string, Partial<Evidence>, RegExp, RegExp]>([
  ['the guard cannot verify', UNVERIFIED, {}, /cannot list .* \(MCG_UNVERIFIED\)\. .* are safe$/, /logs/],
  ['the guard answers otherwise', `${DENIED}MCG_BAD_REVIEW: x`, {}, /\(MCG_BAD_REVIEW\)/, /logs/],
  ['no pod is ready', `${FAILED}no endpoints available`, { deployment: NO_POD }, /no .* ready\. .* safe$/, /get pods/],
  ['there is no Service', `${FAILED}service "x" not found`, { deployment: null }, /not exist/, /oc delete/],
  ['the guard is not trusted', `${FAILED}x509: unknown`, {}, /does not trust/, /all manifests of one rendering/],
  ['the service CA is late', `${FAILED}x509: a`, { webhooks: [SERVICE_CA] }, /trust/, /pods -n openshift-service-ca$/],
  ['cert-manager is late', `${FAILED}x509: a`, { webhooks: [CERT_MANAGER] }, /trust/, /get certificates -n machinec/],
  ['the guard does not answer', `${FAILED}EOF`, {}, /cannot reach the guard/, /port 9843.*pods,endpointslices/],
  ['a policy fails', deniedBy(NODES, 'failed to configure'), { floor: FLOOR }, /nodes\S+ fails\./, /^wait a minute/],
])('is blocked if %s', (_case, message, changes, explanation, advice) => {
  const evidence = { ...GUARDED, ...changes };
  expectProtection(assessTrial(deny(message), evidence, 'Node', undefined), 'BLOCKED', null, explanation, advice);
  // The guard or the floor can deny a config in use while each other deletion is denied for this cause.
  for (const inUse of [IN_USE, FLOOR_IN_USE]) {
    const protection = assessTrial(deny(inUse), evidence, 'Node', deny(message));
    expectProtection(protection, 'BLOCKED', null, explanation, advice);
  }
});

test('is protected if the guard holds the unused config', () => {
  expect(assessTrial(deny(IN_USE), GUARDED, 'Node', deny(`${DENIED}MCG_HELD: x`)).state).toBe('PROTECTED');
});

test.each<[string, string, Partial<Evidence>, TrialResponse | undefined]>([
  ['the guard enforces', KYVERNO, {}, ALLOWED],
  ['other deletions are denied, too', KYVERNO, ABSENT, deny(KYVERNO)],
  ['there is no unused config', KYVERNO, ABSENT, undefined],
  ['its call failed', 'failed calling webhook "validate.kyverno.svc-fail": EOF', ABSENT, ALLOWED],
])('does not know whether a policy engine protects if %s', (_case, message, changes, unused) => {
  const protection = assessTrial(deny(message), { ...GUARDED, ...changes }, 'Node', unused);
  expectProtection(protection, 'UNKNOWN', null, /^denied by the webhook validate\.kyverno\.svc-fail,/, /^see the ans/);
});
