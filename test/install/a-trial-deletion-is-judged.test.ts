import { expect, test } from 'vitest';
import { type Installed, judge } from '../../src/install/verification.ts';

const GUARDED: Installed = {
  webhook: { failurePolicy: 'Fail', caBundle: true, injected: false },
  floor: [],
  mode: 'Enforce',
};
const FLOOR = ['nodes.machineconfig-guard.io', 'pools.machineconfig-guard.io'];
const HOOK = 'admission webhook "guard.machineconfig-guard.io" denied the request: ';
const FAILED =
  'Internal error occurred: failed calling webhook "guard.machineconfig-guard.io": failed to call webhook: Post "https://machineconfig-guard.machineconfig-guard.svc:443/validate?timeout=5s": ';
const POLICY =
  "machineconfigs \"x\" is forbidden: ValidatingAdmissionPolicy 'nodes.machineconfig-guard.io' with binding 'nodes.machineconfig-guard.io' denied request: MCG_IN_USE: x is in use by node a.";

test('refused by the guard', () => {
  expect(judge({ status: 403, message: `${HOOK}MCG_IN_USE: x is in use` }, GUARDED)).toMatchObject({
    protected: true,
    by: 'guard',
  });
});

test('refused by the floor', () => {
  expect(judge({ status: 403, message: POLICY }, { ...GUARDED, floor: FLOOR })).toMatchObject({
    protected: true,
    by: 'floor',
  });
});

test.each<[string, number, string, Partial<Installed>, RegExp, RegExp]>([
  ['nothing installed', 200, '', { webhook: undefined }, /neither the webhook nor the policies/, /oc apply -k/],
  ['policies that let it pass', 200, '', { webhook: undefined, floor: FLOOR }, /although policies are there/, /status/],
  ['mode Warn', 200, '', { mode: 'Warn' }, /the mode is Warn/, /"Enforce"/],
  ['mode Audit', 200, '', { mode: 'Audit' }, /the mode is Audit/, /"Enforce"/],
  ['mode Disabled', 200, '', { mode: 'Disabled' }, /the mode is Disabled/, /"Enforce"/],
  [
    'failed open',
    200,
    '',
    { webhook: { failurePolicy: 'Ignore', caBundle: true, injected: false } },
    /failurePolicy is Ignore/,
    /get pods/,
  ],
  ['too early', 200, '', {}, /although the guard enforces/, /try again/],
  [
    'could not verify',
    503,
    `${HOOK}MCG_UNVERIFIED: could not verify`,
    {},
    /MCG_UNVERIFIED where MCG_IN_USE was due/,
    /log/,
  ],
  ['another code', 403, `${HOOK}MCG_HELD: held`, {}, /MCG_HELD where/, /./],
  [
    'no endpoints',
    500,
    `${FAILED}no endpoints available for service "machineconfig-guard"`,
    {},
    /no pod of the guard is ready/,
    /get pods/,
  ],
  [
    'no service',
    500,
    `${FAILED}service "machineconfig-guard" not found`,
    {},
    /its Service is gone/,
    /oc delete validatingwebhookconfiguration/,
  ],
  [
    'not trusted',
    500,
    `${FAILED}tls: failed to verify certificate: x509: certificate signed by unknown authority`,
    {},
    /does not trust/,
    /manifests/,
  ],
  ['timed out', 500, `${FAILED}context deadline exceeded`, {}, /cannot reach the guard/, /endpointslices/],
  [
    'refused by another webhook',
    403,
    'admission webhook "x.example.com" denied the request: MCG_IN_USE',
    {},
    /by somebody else/,
    /./,
  ],
  [
    'refused by another policy',
    403,
    "ValidatingAdmissionPolicy 'x' with binding 'x' denied request: MCG_IN_USE",
    {},
    /by somebody else/,
    /./,
  ],
  ['another webhook failed', 500, 'failed calling webhook "x.example.com"', {}, /by somebody else/, /./],
])('%s: not protected, why, and what to do', (_name, status, message, installed, why, advice) => {
  const judgement = judge({ status, message }, { ...GUARDED, ...installed });
  expect(judgement).toMatchObject({ protected: false, by: undefined });
  expect(judgement.explanation).toMatch(why);
  expect(judgement.advice).toMatch(advice);
});
