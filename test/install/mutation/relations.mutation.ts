/**
 * Changes everything that is installed, one field after another, and looks which relation notices. The golden file
 * takes no part, because it notices every change.
 */
import { expect, test } from 'vitest';
import { Installed, readKinds, type Relation } from '../relations/relation.ts';
import { RELATIONS } from '../relations/relations.ts';
import { buildRenderedSets } from '../rendered-sets.ts';
import { EVERY_OBJECT, listMutants, type Mutant } from './mutants.ts';
import { compareWithList, formatList, readList } from './survivors.ts';

/** With `MCG_MUTANTS=100`, only every so many-th mutant, starting with `MCG_SEED`, and only new survivors fail. */
const { MCG_MUTANTS: sampleSize, MCG_SEED: seed = '0' } = process.env;

const installed = new Installed(buildRenderedSets());
const kindsByRelation = new Map<Relation, ReadonlySet<string>>();

test('before a change, every relation holds', async () => {
  for (const relation of RELATIONS) {
    readKinds.clear();
    await checkRelation(relation);
    kindsByRelation.set(relation, new Set(readKinds));
  }
  expect(kindsByRelation.size).toBe(RELATIONS.length);
});

test('each change is noticed by a relation, or is in survivors.yaml', async () => {
  const mutants = chooseMutants(listMutants(installed));
  const survivors: string[] = [];
  for (const mutant of mutants) if (!(await isNoticed(mutant))) survivors.push(mutant.name);
  const noticed = mutants.length - survivors.length;
  console.log(`${noticed} of ${mutants.length} changes noticed by ${RELATIONS.length} relations`);
  const { unlisted, outdated } = compareWithList(survivors, readList());
  if (unlisted.length + outdated.length > 0) console.log(formatList(survivors, readList()));
  expect(unlisted).toEqual([]);
  if (sampleSize === undefined) expect(outdated).toEqual([]);
});

/** Throws if the relation does not hold. */
async function checkRelation({ check, checkGuard }: Relation): Promise<void> {
  await check?.(installed);
  for (const guard of checkGuard === undefined ? [] : installed.guards) await checkGuard?.(guard);
}

async function isNoticed({ name, apply }: Mutant): Promise<boolean> {
  const [kind = ''] = name.split(/[ :]/);
  const undo = apply();
  try {
    for (const [relation, kinds] of kindsByRelation) {
      if (name.startsWith(EVERY_OBJECT) || kinds.has('*') || kinds.has(kind)) await checkRelation(relation);
    }
    return false;
  } catch {
    return true;
  } finally {
    undo();
  }
}

function chooseMutants(mutants: readonly Mutant[]): readonly Mutant[] {
  if (sampleSize === undefined) return mutants;
  const step = Math.max(1, Math.floor(mutants.length / Number(sampleSize)));
  return mutants.filter((_, index) => index % step === Number(seed) % step);
}
