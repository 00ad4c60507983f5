import { test } from 'vitest';
import { Installed } from '../relations/relation.ts';
import { RELATIONS } from '../relations/relations.ts';
import { buildRenderedSets } from '../rendered-sets.ts';
import { listMutants } from './mutants.ts';
import { writeFileSync } from 'node:fs';

test('survivors', async () => {
  const installed = new Installed(buildRenderedSets());
  const mutants = listMutants(installed);
  console.log(mutants.length);
  const findViolated = async (): Promise<string | undefined> => {
    for (const { rule, check, checkGuard } of RELATIONS) {
      try {
        await check?.(installed);
        if (checkGuard) for (const guard of installed.guards) await checkGuard(guard);
      } catch (error) {
        return rule + String(error).slice(0, 100);
      }
    }
    return undefined;
  };
  console.log(await findViolated());
  const lines: string[] = [];
  const started = performance.now();
  for (const { name, apply } of mutants) {
    const undo = apply();
    const violated = await findViolated();
    undo();
    lines.push(`${violated === undefined ? 'SURVIVED' : 'noticed '} ${name}  ${violated?.slice(0, 60) ?? ''}`);
    if (lines.length % 200 === 0) {
      console.log(lines.length, performance.now() - started);
      writeFileSync('/tmp/mutants.txt', lines.join('\n'));
    }
  }
  writeFileSync('/tmp/mutants.txt', lines.join('\n'));
  console.log(await findViolated());
}, 3e6);
