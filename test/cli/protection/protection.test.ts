import { expect, test } from 'vitest';
import type { DryRunAnswer } from '../../../src/cli/protection/dry-run-deletion.ts';
import type { Evidence } from '../../../src/cli/protection/evidence.ts';
import { deriveProtection, isComplete, type Protection } from '../../../src/cli/protection/protection.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import type { ReferrerKind } from '../../../src/decision/references.ts';
import { FLOOR, GUARDED, inMode, NO_POD, OPEN, WARNING_FLOOR, WEBHOOK } from './guarded-evidence.ts';

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
const ALLOWED: DryRunAnswer = { status: 200, message: '' };
const deny = (message: string): DryRunAnswer => ({ status: 403, message });

const ABSENT = { webhooks: [] };
const FLOOR_ONLY = { ...ABSENT, floor: FLOOR };
const NO_BUNDLE = { ...WEBHOOK, caBundle: false };
const BY_URL = { ...NO_BUNDLE, target: 'https://guard.example.com/validate' };
const HALF = { ...ABSENT, floor: FLOOR.slice(1) };
const SILENT = { deployment: NO_POD, webhooks: [BY_URL], lease: null };
const OPEN_NO_POD = { webhooks: [OPEN], deployment: NO_POD };
const OPEN_NO_BUNDLE = { webhooks: [{ ...OPEN, caBundle: false }] };
const WARN = inMode('Warn');
const AUDIT = inMode('Audit');
const STALE = { holder: 'a', renewedAt: '2026-11-23T07:56:40.000000Z', durationMs: 137_000 };
const LATE = { ...STALE, renewedAt: '2026-11-23T07:56:50Z' };
const EXPIRED = inMode('Enforce', 'False');
const commands = new CommandFormatter('machineconfig-guard', {});

/** The state, what protects, the explanation and the advice as a clause. */
function toTexts({ state, by, explanation, advice }: Protection): string[] {
  return [by === null ? state : `${state} ${by}`, explanation, advice === null ? '' : commands.toClause(advice)];
}

/** An empty message stands for an allowed deletion. */
function derive(message: string, changes: Partial<Evidence> = {}, unused = ALLOWED, kind: ReferrerKind = 'Node') {
  const answer = message === '' ? ALLOWED : deny(message);
  return deriveProtection({ ...GUARDED, ...changes }, { answer, unused, kind });
}

type Case = readonly [string, string, Partial<Evidence>, RegExp, RegExp];

test.each<Case>([
  ['there is no MachineConfigGuard', 'PROTECTED guard', { guard: null, mode: null }, /a replica runs$/, /^$/],
  ['its mode is invalid', 'PROTECTED guard', inMode('Off'), /a replica runs$/, /^$/],
  ['its Deployment is not readable', 'PROTECTED guard', { deployment: undefined }, /runs$/, /^$/],
  ['it has no leader', 'PROTECTED guard', { lease: null }, /runs$/, /^$/],
  ['its Lease is late within the tolerance', 'PROTECTED guard', { lease: LATE }, /runs$/, /^$/],
  ['it has a URL and no pod', 'PROTECTED guard', { webhooks: [BY_URL], deployment: NO_POD }, /runs$/, /^$/],
  ['only the floor is installed', 'PROTECTED floor', FLOOR_ONLY, /not installed\. The policies/, /^$/],
  ['the floor remains in Audit', 'PROTECTED floor', { ...AUDIT, floor: FLOOR }, /^only the policy floor/, /Enforce/],
  ['it fails open with the floor', 'PROTECTED floor', { ...OPEN_NO_POD, floor: FLOOR }, /^only.* no guard/, /pods/],
  ['no pod is ready', 'BLOCKED', { deployment: NO_POD }, /because no guard pod .* safe$/, /oc get pods/],
  ['no pod is ready, with the floor', 'BLOCKED', { deployment: NO_POD, floor: FLOOR }, /no guard/, /pods/],
  ['it has no caBundle', 'BLOCKED', { webhooks: [NO_BUNDLE] }, /caBundle/, /manifests/],
  ['its certificate expired', 'BLOCKED', EXPIRED, /expired \(serving until/, /explain \w+Expiring$/],
  ['its Deployment is gone', 'BLOCKED', { deployment: null }, /Deployment .* does not exist/, /^install/],
  ['the mode is Audit', 'EXPOSED', AUDIT, /deleted: the mode of the guard is Audit$/, /Enforce/],
  ['it fails open without pods', 'EXPOSED', OPEN_NO_POD, /no guard pod is ready, and .* is Ignore$/, /get pods/],
  ['the floor only warns', 'EXPOSED', { ...AUDIT, floor: WARNING_FLOOR }, /Audit; no policy .* Nodes$/, /Enforce/],
  ['half of the floor is', 'EXPOSED', HALF, /; no policy .* checks Nodes$/, /-floor --out - \| oc apply -f -$/],
  ['the leader is silent', 'UNKNOWN', { lease: STALE }, /not renewed its Lease since 2026-11-23T07:56/, /verify/],
  ['nothing shows that it runs', 'UNKNOWN', SILENT, /no Deployment or Lease/, /verify/],
  ['the floor is not readable', 'UNKNOWN', { ...ABSENT, floor: undefined }, /bindings of the pol/, /^install/],
  ['no webhook is readable', 'UNKNOWN', { webhooks: undefined }, /you may not list/, /-reader$/],
])('if %s, the objects of the cluster say %s', (_case, state, changes, explanation, advice) => {
  const texts = toTexts(deriveProtection({ ...GUARDED, ...changes }));
  expect(texts).toEqual([state, expect.stringMatching(explanation), expect.stringMatching(advice)]);
});

type DryRunCase = readonly [string, string, string, Partial<Evidence>, RegExp, RegExp];

test.each<DryRunCase>([
  ['the guard denies', 'PROTECTED guard', IN_USE, {}, /^the guard denies.*in use$/, /^$/],
  ['the guard holds the config, which was in use', 'PROTECTED guard', `${DENIED}MCG_HELD: x`, {}, /denies/, /^$/],
  ['a policy is first', 'PROTECTED floor', FLOOR_IN_USE, { floor: FLOOR }, /^the policy nodes\..*before the API/, /^$/],
  ['only a policy is there', 'PROTECTED floor', FLOOR_IN_USE, FLOOR_ONLY, /^only the policy n.* is not inst/, /^$/],
  ['the mode is Warn', 'PROTECTED floor', FLOOR_IN_USE, { ...WARN, floor: FLOOR }, /^only .* is Warn\. /, /"Enforce"/],
  ['nothing is installed', 'EXPOSED', '', ABSENT, /deleted: the guard is not installed$/, /^install the guard/],
  ['the guard fails open', 'EXPOSED', '', { webhooks: [OPEN] }, /could not call the guard, .* Ignore$/, /get pods/],
  ['no pod runs', 'EXPOSED', '', OPEN_NO_POD, /no guard pod is ready, and its fail/, /get pods/],
  ['no caBundle is there', 'EXPOSED', '', OPEN_NO_BUNDLE, /no caBundle/, /manifests/],
  ['the registration is new', 'EXPOSED', '', {}, /did not call the guard, although/, /retry/],
  ['no webhook is readable', 'EXPOSED', '', { webhooks: undefined }, /you may not list/, /reader/],
  ['the policy does not work', 'EXPOSED', '', FLOOR_ONLY, /floor did not deny/, /get validatingadmissionpolicies/],
  ['Kyverno denies', 'UNKNOWN', KYVERNO, {}, /^denied by validate\.kyverno\.svc-fail, so/, /^verify again/],
  ['Kyverno fails', 'UNKNOWN', 'failed calling webhook "x.kyverno": EOF', {}, /^denied by x\.kyverno,/, /^verify/],
  ['a foreign policy denies', 'UNKNOWN', deniedBy('x.example.com', 'no'), {}, /^denied by x\.example\.com,/, /^verify/],
])('if %s, the dry run says %s', (_case, state, message, changes, explanation, advice) => {
  const texts = toTexts(derive(message, changes));
  expect(texts).toEqual([state, expect.stringMatching(explanation), expect.stringMatching(advice)]);
});

const REMOVAL = /^to delete configs meanwhile, .*: oc delete validatingwebhookconfiguration machineconfig-guard$/;
const ANNOTATION = /^to delete a config meanwhile, say why: oc annotate machineconfig NAME \S+allow-deletion=REASON$/;
const BINDING = /^to delete configs meanwhile, .*: oc delete validatingadmissionpolicybinding nodes\.machine/;
const AGAIN = /^install the guard again/;
const INJECTED = /injected the caBundle, or apply .* again: .* render --from-cluster --out - \| oc apply/;
const REACH = /port 9843.*pods,endpointslices/;

test.each<[string, string, Partial<Evidence>, RegExp, RegExp, RegExp]>([
  ['the guard cannot verify', UNVERIFIED, {}, /cannot list .* \(MCG_UNVERIFIED\)\. .* are safe$/, /logs/, ANNOTATION],
  ['the guard answers otherwise', `${DENIED}MCG_BAD_REVIEW: x`, {}, /\(MCG_BAD_REVIEW\)/, /logs/, ANNOTATION],
  ['no pod is ready', `${FAILED}no endpoints`, { deployment: NO_POD }, /no guard pod .* safe$/, /get pods/, REMOVAL],
  ['there is no Service', `${FAILED}service "x" not found`, { deployment: null }, /not exist/, AGAIN, REMOVAL],
  ['the guard is not trusted', `${FAILED}x509: unknown`, {}, /does not trust/, INJECTED, REMOVAL],
  ['the guard does not answer', `${FAILED}EOF`, {}, /cannot reach the guard/, REACH, REMOVAL],
  ['a policy fails', deniedBy(NODES, 'failed'), { floor: FLOOR }, /nodes\S+ fails\./, /^wait a minute/, BINDING],
])('is blocked if %s, and names the way out', (_case, message, changes, explanation, advice, wayOut) => {
  // The guard or the floor can deny a config in use while each other deletion is denied for this cause.
  for (const inUse of [message, IN_USE, FLOOR_IN_USE]) {
    const protection = derive(inUse, changes, deny(message));
    expect(toTexts(protection)).toEqual(['BLOCKED', expect.stringMatching(explanation), expect.stringMatching(advice)]);
    expect(commands.toClause(protection.wayOut ?? expect.fail())).toMatch(wayOut);
  }
});

/** The floor answers first, so no dry run reaches the guard. */
test.each<[string, Partial<Evidence>, string, string | null, RegExp]>([
  ['its Deployment is gone', { deployment: null }, 'BLOCKED', 'the Deployment', /every rendered/],
  ['it has not listed', inMode('Enforce', 'True', 'False'), 'BLOCKED', 'the guard has', /safe$/],
  ['it fails open without a pod', OPEN_NO_POD, 'PROTECTED', 'no guard pod', /^only the policy/],
  ['its leader is silent', { lease: null, deployment: undefined }, 'PROTECTED', 'the webhook is', /^only the policy/],
  ['its mode is Audit', AUDIT, 'PROTECTED', 'the mode', /^only the policy/],
  ['it is absent', ABSENT, 'PROTECTED', null, /^only the policy/],
  ['it works', {}, 'PROTECTED', null, /before the API server calls the guard$/],
])('if a policy denies and the guard does not work because %s, says both', (_case, changes, state, failing, text) => {
  const protection = derive(FLOOR_IN_USE, { floor: FLOOR, ...changes });
  expect(protection).toMatchObject({ state, explanation: expect.stringMatching(text) as string });
  expect(protection.failing?.slice(0, failing?.length) ?? null).toBe(failing);
  expect(isComplete(protection)).toBe(failing === null);
});

test('says what protects without the webhook, and that no policy checks builds', () => {
  const rest = [[], FLOOR].map(
    (floor) => derive(`${FAILED}EOF`, { floor }).wayOut?.text.match(/then (.*) protects/)?.[1],
  );
  expect(rest).toEqual(['nothing', 'only the policy floor']);
  expect(toTexts(derive('', FLOOR_ONLY, ALLOWED, 'MachineOSBuild'))[1]).toMatch(
    /; no policy .* checks MachineOSBuilds$/,
  );
});

test('is protected if the guard holds the unused config', () => {
  expect(derive(IN_USE, {}, deny(`${DENIED}MCG_HELD: x`)).state).toBe('PROTECTED');
});
