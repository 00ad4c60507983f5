import { afterAll, beforeAll, expect, test } from 'vitest';

import { runBinaries } from '../support/run-binaries.ts';
import { FAULTS } from './faults.ts';
import { problemsOf, suffer } from './support/ordeal.ts';
import { Stage } from './support/stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.start(await runBinaries());
}, 120_000);

afterAll(() => stage.stop());

// Each ends only once every question is answered rightly again and a refusal has come out of the index.
test.for(FAULTS)(
  '$title: nothing in use is let go, nothing free is called used',
  { timeout: 400_000 },
  async (fault) => {
    const ordeal = await suffer(stage, fault);

    const { during, recoverySeconds, indexSeconds } = ordeal;
    console.log(during, { recoverySeconds, indexSeconds });
    expect(problemsOf(fault, ordeal)).toEqual([]);
  },
);
