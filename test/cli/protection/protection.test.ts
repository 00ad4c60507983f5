import { expect, test } from 'vitest';
import type { DryRunAnswer } from '../../../src/cli/protection/dry-run-deletion.ts';
import type { Evidence } from '../../../src/cli/protection/evidence.ts';
import { listWarnings } from '../../../src/cli/protection/findings.ts';
import { deriveProtection, isComplete } from '../../../src/cli/protection/protection.ts';
import type { ReferrerKind } from '../../../src/decision/references.ts';
import { COMMANDS, expectProtection, FLOOR, GUARDED, inMode, NO_POD, OPEN, WEBHOOK } from './guarded-evidence.ts';

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
const FOREIGN = deniedBy('x.example.com', 'no');
const NO_BUNDLE = { ...OPEN, caBundle: false };

function derive(
  answer: DryRunAnswer,
  changes: Partial<Evidence> = {},
  unused?: DryRunAnswer,
  kind: ReferrerKind = 'Node',
) {
  return deriveProtection({ ...GUARDED, ...changes }, { answer, unused, kind });
}

type Case = readonly [string, string, Partial<Evidence>, string | null, RegExp, RegExp];

test.each<Case>([
  ['the guard denies', IN_USE, {}, 'guard', /^the guard denies.*in use$/, /^$/],
  ['the guard holds the config, which is in use no more,', `${DENIED}MCG_HELD: x`, {}, 'guard', /denies/, /^$/],
  ['a policy denies', FLOOR_IN_USE, { floor: FLOOR }, 'floor', /^the policy nodes\..*before the API server/, /^$/],
  ['only a policy is installed', FLOOR_IN_USE, FLOOR_ONLY, 'floor', /^only the policy nodes.* is not inst/, /^$/],
  ['the mode is Warn', FLOOR_IN_USE, { floor: FLOOR, ...inMode('Warn') }, 'floor', /^only .* is Warn\. /, /"Enforce"/],
  ['only Kyverno denies', KYVERNO, ABSENT, 'other', /^only the webhook validate\.kyverno\.svc-fail denies/, /^install/],
  [
    'only a foreign policy denies',
    FOREIGN,
    ABSENT,
    'other',
    /^only the policy x\..* install\/other-policies /,
    /^inst/,
  ],
])('is protected if %s', (_case, message, changes, by, explanation, advice) => {
  const protection = derive(deny(message), changes, ALLOWED);
  expectProtection(protection, 'PROTECTED', by, explanation, advice);
});

test.each<[string, Partial<Evidence>, ReferrerKind, RegExp, RegExp]>([
  ['nothing is installed', ABSENT, 'Node', /deleted: the guard is not installed$/, /^install the guard/],
  ['the guard fails open', { webhooks: [OPEN] }, 'Node', /could not call the guard, .* Ignore$/, /get pods/],
  ['no pod runs', { webhooks: [OPEN], deployment: NO_POD }, 'Node', /no guard pod is ready, and its fail/, /get pods/],
  ['the caBundle is missing', { webhooks: [NO_BUNDLE] }, 'Node', /no caBundle/, /manifests/],
  ['the registration is new', {}, 'Node', /did not call the guard, although/, /retry/],
  ['no webhook is readable', { webhooks: undefined }, 'Node', /you may not list/, /reader/],
  ['the policy does not work', FLOOR_ONLY, 'Node', /floor did not deny it/, /get validatingadmissionpolicies/],
  ['policies check no builds', FLOOR_ONLY, 'MachineOSBuild', /do not check MachineOSBuilds$/, /^install the guard/],
])('is exposed if the deletion is allowed because %s', (_case, changes, kind, explanation, advice) => {
  const protection = derive(ALLOWED, changes, undefined, kind);
  expectProtection(protection, 'EXPOSED', null, explanation, advice);
});

test.each<[string, string, Partial<Evidence>, RegExp, RegExp]>([
  ['the guard cannot verify', UNVERIFIED, {}, /cannot list .* \(MCG_UNVERIFIED\)\. .* are safe$/, /logs/],
  ['the guard answers otherwise', `${DENIED}MCG_BAD_REVIEW: x`, {}, /\(MCG_BAD_REVIEW\)/, /logs/],
  ['no pod is ready', `${FAILED}no endpoints available`, { deployment: NO_POD }, /no .* ready\. .* safe$/, /get pods/],
  [
    'there is no Service',
    `${FAILED}service "x" not found`,
    { deployment: null },
    /not exist/,
    /^install the guard again/,
  ],
  [
    'the guard is not trusted',
    `${FAILED}x509: unknown`,
    {},
    /does not trust/,
    /injected the caBundle, or apply the manifests again: .* render --from-cluster --out - \| oc apply/,
  ],
  ['the guard does not answer', `${FAILED}EOF`, {}, /cannot reach the guard/, /port 9843.*pods,endpointslices/],
  ['a policy fails', deniedBy(NODES, 'failed to configure'), { floor: FLOOR }, /nodes\S+ fails\./, /^wait a minute/],
])('is blocked if %s', (_case, message, changes, explanation, advice) => {
  expectProtection(derive(deny(message), changes), 'BLOCKED', null, explanation, advice);
  // The guard or the floor can deny a config in use while each other deletion is denied for this cause.
  for (const inUse of [IN_USE, FLOOR_IN_USE]) {
    const protection = derive(deny(inUse), changes, deny(message));
    expectProtection(protection, 'BLOCKED', null, explanation, advice);
  }
});

const REMOVAL = /^to delete configs meanwhile, .*: oc delete validatingwebhookconfiguration machineconfig-guard$/;
const ANNOTATION = /^to delete a config meanwhile, say why: oc annotate machineconfig NAME \S+allow-deletion=REASON$/;
const BINDING = /^to delete configs meanwhile, .*: oc delete validatingadmissionpolicybinding nodes\.machine/;

/** The floor answers first, so no dry run reaches the guard. */
test.each<[string, Partial<Evidence>, string, string | null, RegExp, RegExp | null]>([
  ['its Deployment is gone', { deployment: null }, 'BLOCKED', 'the Deployment', /every rendered/, REMOVAL],
  [
    'it reports that it has not listed',
    inMode('Enforce', 'True', 'False'),
    'BLOCKED',
    'the guard has',
    /safe$/,
    ANNOTATION,
  ],
  [
    'it fails open without a pod',
    { webhooks: [OPEN], deployment: NO_POD },
    'PROTECTED',
    'no guard pod',
    /^only the policy/,
    null,
  ],
  [
    'its leader is silent',
    { lease: null, deployment: undefined },
    'PROTECTED',
    'the webhook is',
    /^only the policy/,
    null,
  ],
  ['its mode is Audit', inMode('Audit'), 'PROTECTED', 'the mode', /^only the policy/, null],
  ['it is absent', ABSENT, 'PROTECTED', null, /^only the policy/, null],
  ['it works', {}, 'PROTECTED', null, /before the API server calls the guard$/, null],
])(
  'if a policy denies and the guard does not work because %s, says both',
  (_case, changes, state, failing, text, wayOut) => {
    const protection = derive(deny(FLOOR_IN_USE), { floor: FLOOR, ...changes });
    expect(protection).toMatchObject({ state, explanation: expect.stringMatching(text) as string });
    expect(protection.failing?.slice(0, failing?.length) ?? null).toBe(failing);
    expect(isComplete(protection)).toBe(failing === null);
    expect(protection.wayOut && COMMANDS.toClause(protection.wayOut)).toEqual(wayOut && expect.stringMatching(wayOut));
  },
);

test.each([
  [UNVERIFIED, ANNOTATION],
  [`${FAILED}EOF`, REMOVAL],
  [deniedBy(NODES, 'failed to configure'), BINDING],
])('says how to delete a config while each deletion is denied by %j', (message, wayOut) => {
  expect(COMMANDS.toClause(derive(deny(message)).wayOut ?? expect.fail())).toMatch(wayOut);
});

test.each([
  [undefined, 'then nothing protects'],
  [FLOOR, 'then only the policy floor protects'],
])('says what protects without the webhook beside the floor %j', (floor, rest) => {
  const { wayOut } = derive(deny(`${FAILED}EOF`), floor && { floor });
  expect(wayOut?.text).toContain(rest);
});

test('is protected if the guard holds the unused config', () => {
  expect(derive(deny(IN_USE), {}, deny(`${DENIED}MCG_HELD: x`)).state).toBe('PROTECTED');
});

test.each<[string, string, Partial<Evidence>, DryRunAnswer | undefined]>([
  ['the guard enforces', KYVERNO, {}, ALLOWED],
  ['other deletions are denied, too', KYVERNO, ABSENT, deny(KYVERNO)],
  ['there is no unused config', KYVERNO, ABSENT, undefined],
  ['its call failed', 'failed calling webhook "validate.kyverno.svc-fail": EOF', ABSENT, ALLOWED],
])('does not know whether a policy engine protects if %s', (_case, message, changes, unused) => {
  const protection = derive(deny(message), changes, unused);
  expectProtection(protection, 'UNKNOWN', null, /^denied by the webhook validate\.kyverno\.svc-fail,/, /^see the ans/);
});

const [RENDERED, OVERLAY] = ['--profile=fail-closed --tls=generated', '--profile=fail-closed --tls=service-ca'];
const PODS = { replicas: 1, readyReplicas: 1 };

test.each<[string, Partial<Evidence>, string[], readonly RegExp[]]>([
  ['one rendering', { deployment: { ...PODS, flags: `${RENDERED} --single-node` }, authorityFlags: RENDERED }, [], []],
  ['objects that a person wrote', { webhooks: [WEBHOOK], deployment: PODS }, [], []],
  [
    'an overlay over a rendering',
    { webhooks: [{ ...WEBHOOK, flags: OVERLAY }], deployment: { ...PODS, flags: OVERLAY }, authorityFlags: RENDERED },
    [],
    [/^the Secret machineconfig-guard-ca is left .* --tls=generated; now it has .*--tls=service-ca$/],
  ],
  [
    'half of an overlay over a rendering',
    { webhooks: [{ ...WEBHOOK, flags: OVERLAY }], deployment: { ...PODS, flags: RENDERED } },
    [],
    [/^the webhook was rendered with .*=service-ca, but the Deployment with .*=generated$/],
  ],
  ['pools that nothing dates', {}, ['infra', 'worker'], [/^pools infra, worker without managedFields: /]],
])('with %s, warns as it should', (_case, changes, undatedPools, warnings) => {
  const webhooks = [{ ...WEBHOOK, flags: RENDERED }];
  const deployment = { ...PODS, flags: RENDERED };
  const actual = listWarnings({ ...GUARDED, webhooks, deployment, ...changes }, undatedPools);
  expect(actual).toEqual(warnings.map((warning) => expect.stringMatching(warning) as string));
});
