import { join } from 'node:path';
import * as fc from 'fast-check';
import PQueue from 'p-queue';
import { expect, test } from 'vitest';
import { compareRenders } from '../../../src/manifests/compare-renders.ts';
import { findProblems } from '../../../src/manifests/find-problems.ts';
import { readManifests } from '../../../src/manifests/read-manifests.ts';
import { createRender } from '../../../src/rendered-config/operator/render.ts';
import { findRenderer } from '../../../src/rendered-config/operator/renderer.ts';
import { IS_LONG } from '../support/runner.ts';
import { writeFiles } from './bootstrap-host.ts';
import { manifestDirectory } from './manifest-directories.ts';
import { OperatorCluster } from './operator-cluster.ts';
import { createJudge } from './real-verdict.ts';

const DIRECTORIES = IS_LONG ? 1_000 : 20;
/** Fixed, so that a failure repeats. */
const SEED = 20_261_156;
const CONCURRENCY = 2;
const TIMEOUT_MS = IS_LONG ? 14_400_000 : 600_000;
const { signal } = new AbortController();

test(
  'judges generated manifests as the bootstrap host, the API server and the second render do',
  async () => {
    const { binaries, installed, admin } = await OperatorCluster.shared();
    const { directory: parent } = installed.controlPlane;
    await installed.controlPlane.installProjects('openshift-4.20-manifests');
    const judge = await createJudge(binaries, parent, admin);
    const renderer = await findRenderer(join(binaries, 'machine-config-controller'), undefined, signal);
    const render = createRender(renderer, { objects: new Map(), installConfig: undefined }, signal);
    const directories = fc.sample(manifestDirectory, { numRuns: DIRECTORIES, seed: SEED });
    const verdicts = await new PQueue({ concurrency: CONCURRENCY }).addAll(
      directories.map((directory) => async () => {
        const real = await judge(directory);
        const path = await writeFiles(parent, directory);
        const { set, problems } = await findProblems(await readManifests(path, signal), { release: '4.20', signal });
        const { problems: renderProblems } = await compareRenders(set, render);
        const codes = new Set(renderProblems.map(({ code }) => code));
        return {
          directory,
          real,
          isUnsafe: real.failure !== undefined || real.isDifferent || real.rejections.length > 0,
          problems: problems.map(({ severity, code, message }) => `${severity} ${code}: ${message}`),
          // Only the daemon compares the files with a disk.
          hasError: problems.some(({ severity, code }) => severity === 'error' && code !== 'UncomparedFile'),
          renders: { fails: codes.has('RenderFails'), isDifferent: codes.has('RendersDiffer') },
        };
      }),
    );
    // Deleting one of two equal objects is right, although the release renders equal mirrors once. The one to delete
    // can be a second document.
    const isCautious = (problems: readonly string[]) => {
      const errors = problems.filter((problem) => problem.startsWith('error'));
      const isOf = (code: string) => (error: string) => error.startsWith(`error ${code}:`);
      const others = errors.filter((error) => !isOf('DuplicateObject')(error));
      return others.length < errors.length && others.every(isOf('MultipleDocuments'));
    };
    const wrong = verdicts.filter(({ hasError, isUnsafe }) => hasError !== isUnsafe);
    expect(wrong.filter(({ isUnsafe, problems }) => isUnsafe || !isCautious(problems))).toEqual([]);
    expect(
      verdicts.filter(
        ({ real, renders }) =>
          renders.fails !== (real.failure !== undefined) || renders.isDifferent !== real.isDifferent,
      ),
    ).toEqual([]);
    const causes = [
      verdicts.filter(({ real }) => real.failure !== undefined),
      verdicts.filter(({ real }) => real.isDifferent),
      verdicts.filter(({ real }) => real.rejections.length > 0),
      verdicts.filter(({ isUnsafe }) => !isUnsafe),
    ];
    expect(Math.min(...causes.map(({ length }) => length))).toBeGreaterThan(DIRECTORIES / 20);
  },
  TIMEOUT_MS,
);
