import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { toClusterState } from '../support/cluster-state.ts';
import { decide, denyBadReview } from '../../src/review/decide.ts';
import type { Referrer } from '../../src/mco/referrer.ts';
import type { Settings } from '../../src/api/settings.ts';
import type { Verdict } from '../../src/review/verdict.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import type { ClusterState } from '../../src/references/cluster-state.ts';

const NAME = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const NOW = new Date('2026-11-20T12:00:00Z');
const CREATED_AT = new Date('2026-11-20T08:00:00Z');
const ALLOWED = { outcome: 'allowed', config: NAME, references: [], referencesTotal: 0, warnings: [] };

function toHelp(code: string): string {
  const page = 'https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs/codes.md';
  return `Run machineconfig-guard explain ${code}, or see ${page}#${code.toLowerCase()}`;
}

/** The message with the name and the note of its code, which is the cause in modes that allow. */
const expand = (text: string, { code, cause = code }: Pick<Verdict, 'code' | 'cause'>) =>
  text.replaceAll('CONFIG', NAME).replace('HELP', toHelp(cause));

interface Situation extends Partial<Pick<ClusterState, 'notReadyNode' | 'readAt' | 'unreadable'> & Settings> {
  readonly name?: string;
  readonly allowDeletion?: string;
  readonly referrers?: readonly (Partial<Referrer> &
    Partial<Record<'fields' | 'conflictingPools', string[]>> & { strength?: 'weak' })[];
}

interface Case extends Situation {
  readonly title: string;
  readonly message?: string;
  readonly verdict?: object;
  readonly warnings?: readonly string[];
}

function decideSituation({ name: text = NAME, allowDeletion, referrers = [], ...situation }: Situation) {
  const {
    mode = 'Enforce',
    outdatedMode,
    holdSupersededMs = 0,
    unreadable = [],
    readAt = NOW,
    notReadyNode,
  } = situation;
  const name = toConfigName(text);
  const annotation = allowDeletion === undefined ? {} : { allowDeletion };
  const review = {
    uid: 'u',
    isDryRun: false,
    user: 'x',
    config: { name, uid: 'c', createdAt: CREATED_AT, ...annotation },
  };
  const all = referrers.map(({ fields = [], strength = 'strong', ...referrer }) => {
    const references = fields.map((field) => ({ field, config: name, strength }));
    return { state: { type: 'configured' }, ...referrer, references } as unknown as Referrer;
  });
  const stuck = referrers.find(({ conflictingPools }) => conflictingPools !== undefined);
  const stuckNode = stuck && { name: stuck.name ?? '', conflictingPools: stuck.conflictingPools ?? [] };
  const state = toClusterState(name, all, { unreadable, readAt: readAt ?? undefined, stuckNode, notReadyNode });
  const settings = { mode, holdSupersededMs, ...(outdatedMode && { outdatedMode }) };
  return decide(review, state, settings, { createdAt: () => undefined });
}

const CASES = parse(readFileSync(new URL('messages.yaml', import.meta.url), 'utf8'), {
  schema: 'yaml-1.1',
}) as readonly Case[];

test.each(CASES)('the verdict $title', ({ name = NAME, message, verdict: fields, warnings, ...situation }) => {
  const verdict = decideSituation({ name, ...situation });
  if (message !== undefined) expect(verdict.message).toBe(expand(message, verdict));
  if (warnings !== undefined) expect(verdict.warnings).toEqual(warnings.map((text) => expand(text, verdict)));
  if (fields === undefined) return;
  const whole = JSON.parse(JSON.stringify(fields).replaceAll('CONFIG', NAME)) as object;
  const code = verdict.message.split(':')[0];
  expect(verdict).toEqual({ ...ALLOWED, config: name, code, message: verdict.message, ...whole });
});

test('the verdicts without a config', () => {
  const review = { uid: 'u', isDryRun: false, user: 'x', config: undefined };
  const state = toClusterState(toConfigName(NAME), [], { unreadable: [{ name: 'nodes', reason: 'broken' }] });
  const settings = { mode: 'Enforce', holdSupersededMs: 0 } as const;
  const allowed = { ...ALLOWED, config: undefined, code: 'MCG_NOT_RENDERED' };
  const message = 'MCG_NOT_RENDERED: not the deletion of a rendered MachineConfig';
  expect(decide(review, state, settings, { createdAt: () => undefined })).toEqual({ ...allowed, message });
  const denied = { ...allowed, outcome: 'denied', code: 'MCG_BAD_REVIEW' };
  const denialStatus = { code: 400, reason: 'BadRequest' };
  const problem = `MCG_BAD_REVIEW: the body is not JSON. ${toHelp('MCG_BAD_REVIEW')}`;
  expect(denyBadReview('the body is\nnot JSON')).toEqual({ ...denied, message: problem, denialStatus });
});
