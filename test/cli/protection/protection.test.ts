import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Evidence } from '../../../src/cli/protection/evidence.ts';
import { deriveProtection, isComplete, type Protection } from '../../../src/cli/protection/protection.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import type { ReferrerKind } from '../../../src/mco/referrer.ts';
import { GUARDED } from './guarded-evidence.ts';

type Rows = readonly (readonly string[])[];
type Texts = Readonly<Record<string, string>>;

interface Tables extends Readonly<Record<'objects' | 'dryRuns' | 'blocked' | 'behindFloor', Rows>> {
  readonly evidence: Readonly<Record<string, Partial<Evidence>>>;
  readonly unreadable: Texts;
  readonly messages: Texts;
}

const TABLES = parse(readFileSync(new URL('protection.yaml', import.meta.url), 'utf8'), { merge: true }) as Tables;

function toEvidence(names: string): Evidence {
  const parts = names.split(' ').map((name) => {
    const unreadable = TABLES.unreadable[name];
    return unreadable === undefined ? TABLES.evidence[name] : { [unreadable]: undefined };
  });
  return Object.assign({ ...GUARDED }, ...parts) as Evidence;
}

/** From the names of the messages for a config in use and for an unused one. NONE: no config is unused. */
function derive(used: string, evidence = '', unused = 'ALLOWED', kind: ReferrerKind = 'Node'): Protection {
  const [answer, other] = [used, unused].map((name) => {
    if (name === 'NONE') return undefined;
    const message = TABLES.messages[name] ?? expect.fail(name);
    return { status: message === '' ? 200 : 403, message };
  });
  return deriveProtection(toEvidence(evidence), answer && { answer, unused: other, kind });
}

/** The state, what protects, the explanation, the advice and the ways out. */
function toTexts({ state, by, explanation, advice, waysOut }: Protection): readonly string[] {
  const clauses = [advice, ...waysOut].map((item) => (item ? new CommandFormatter('mcg', {}).toClause(item) : ''));
  return [by === null ? state : `${state} ${by}`, explanation, ...clauses];
}

const matching = (pattern = '') => expect.stringMatching(pattern === '' ? /^$/ : new RegExp(pattern)) as string;

test.each(TABLES.objects)('if %s, the objects of the cluster say what protects', (...row) => {
  const [, evidence = '', state, explanation, advice] = row;
  const texts = toTexts(deriveProtection(toEvidence(evidence)));
  expect(texts.slice(0, 3)).toEqual([state, matching(explanation), matching(advice)]);
});

test.each(TABLES.dryRuns)('if %s, the dry run says what protects', (...row) => {
  const [, message = '', evidence, state, explanation, advice] = row;
  expect(toTexts(derive(message, evidence))).toEqual([state, matching(explanation), matching(advice)]);
});

test.each(TABLES.blocked)('is blocked if %s, and names the ways out', (...row) => {
  const [, message = '', evidence, ...patterns] = row;
  // The guard or the floor can deny a config in use while each other deletion is denied for this cause.
  for (const used of [message, 'IN_USE', 'POLICY'])
    expect(toTexts(derive(used, evidence, message))).toEqual(['BLOCKED', ...patterns.map(matching)]);
});

test.each(TABLES.behindFloor)('if a policy denies and, of the guard, %s, says both', (...row) => {
  const [, evidence, state, failing, explanation, unused] = row;
  const protection = derive('POLICY', `FLOOR ${evidence}`, unused);
  expect(protection).toMatchObject({
    state,
    explanation: matching(explanation),
    failing: failing && matching(failing),
  });
  expect(isComplete(protection)).toBe(failing === null);
});

test('behind the floor and without an unused config, advises to look at the pods of the guard', () => {
  expect(derive('POLICY', 'FLOOR', 'NONE').advice?.command?.words.join(' ')).toBe('oc get pods -n machineconfig-guard');
});

test('says what protects without the webhook, that no policy checks builds, and counts a hold as a decision', () => {
  const rest = ['', 'FLOOR'].map(
    (floor) =>
      derive('EOF', floor)
        .waysOut.at(-1)
        ?.text.match(/then (.*) protects/)?.[1],
  );
  expect(rest).toEqual(['nothing', 'only the policy floor']);
  const ofBuild = derive('ALLOWED', 'ABSENT FLOOR', 'ALLOWED', 'MachineOSBuild');
  expect(ofBuild.explanation).toMatch(/; no policy .* checks MachineOSBuilds$/);
  expect(derive('IN_USE', '', 'HELD').state).toBe('PROTECTED');
});
