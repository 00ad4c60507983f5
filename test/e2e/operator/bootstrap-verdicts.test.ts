import { join } from 'node:path';
import * as fc from 'fast-check';
import PQueue from 'p-queue';
import { afterAll, expect, test } from 'vitest';
import { compareRenders } from '../../../src/manifests/compare-renders.ts';
import { findProblems } from '../../../src/manifests/find-problems.ts';
import { readManifests } from '../../../src/manifests/read-manifests.ts';
import { createRender } from '../../../src/rendered-config/operator/render.ts';
import { PULL_SECRET_FILE } from '../../../src/rendered-config/operator/renderer.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { IS_LONG, log, runBinaries } from '../support/runner.ts';
import { renderBootstrap, writeFiles } from './bootstrap-host.ts';
import { BootstrapLoop } from './bootstrap-loop.ts';
import { type Directory, manifestDirectory } from './manifest-directories.ts';
import { findBootstrapLoop, findOperator, OPERATOR_VARIABLE, selectOperator } from './operator-binaries.ts';
import { createJudge } from './real-verdict.ts';

/**
 * Which of the generated directories are judged, such as 200-400, so that several runs can share them. The seed is
 * fixed, so that a failure repeats.
 */
const { MCG_E2E_DIRECTORIES: range = IS_LONG ? '0-1030' : '0-16', MCG_E2E_SEED: seed = '20261156' } = process.env;
const [FIRST = 0, END = 0] = range.split('-').map(Number);
/** While one directory waits for a program, another one is judged. */
const CONCURRENCY = 3;
/** How many directories are also rendered by the published program, to which the loop must be equal. */
const COMPARED = 5;
const TIMEOUT_MS = 14_400_000;
/** Problems that only the programs of a node find. */
const OF_NODES = /the machine-config-daemon|or no kubelet starts|or CRI-O starts on no node|or no node boots/;
const { signal } = new AbortController();

const release = selectOperator(OPERATOR_VARIABLE, process.env[OPERATOR_VARIABLE]);
const binaries = await findOperator(release, log);
const templates = join(binaries, 'templates');
const loop = new BootstrapLoop(await findBootstrapLoop(release, log));
const controlPlane = await ControlPlane.start(await runBinaries());
await controlPlane.installProjects('machine-config-operator', 'openshift-4.20-manifests', 'node-tuning', 'metal3');
const { directory: parent } = controlPlane;
const directories = fc.sample(manifestDirectory, { numRuns: END, seed: Number(seed) }).slice(FIRST);

afterAll(async () => {
  await loop.stop();
  await controlPlane.stop();
});

/** As the program and its error, or the names of the configs. */
async function render(directory: Directory, run?: BootstrapLoop['run']): Promise<unknown> {
  const contents = Object.entries(directory).map(([path, content]) => [path.replace('/', '-'), content]);
  try {
    const { names } = await renderBootstrap(binaries, await writeFiles(parent, Object.fromEntries(contents)), run);
    return names;
  } catch (error) {
    return /error running MCC.*$/m.exec(String(error).replaceAll(/manifests-\w+/g, ''))?.[0];
  }
}

test.each(directories.slice(0, COMPARED))('renders in a loop as the program does: directory %#', async (directory) => {
  expect(await render(directory, loop.run)).toEqual(await render(directory));
});

test(
  'judges generated manifests as the bootstrap host, the API server and the second render do',
  async () => {
    const renderDirectory = (manifests: string) => renderBootstrap(binaries, manifests, loop.run);
    const judge = await createJudge(renderDirectory, parent, controlPlane.apiServer.admin);
    const render = createRender(
      (manifests, output, version) =>
        loop.run({ manifests, output, version, templates, pullSecret: join(manifests, PULL_SECRET_FILE) }),
      new Map(),
      signal,
    );
    const verdicts = await new PQueue({ concurrency: CONCURRENCY }).addAll(
      directories.map((directory) => async () => {
        const real = await judge(directory);
        const path = await writeFiles(parent, directory);
        const { set, problems } = findProblems(await readManifests(path, signal), '4.20');
        const { problems: renderProblems } = await compareRenders(set, render);
        const codes = new Set(renderProblems.map(({ code }) => code));
        return {
          directory,
          kinds: set.all.map(({ kind }) => kind),
          real,
          isUnsafe: real.failure !== undefined || real.isDifferent || real.rejections.length > 0,
          problems: problems.map(({ severity, code, message }) => `${severity} ${code}: ${message}`),
          hasError: problems.some(({ severity, message }) => severity === 'error' && !OF_NODES.test(message)),
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
    const wrong = verdicts
      .filter(({ hasError, isUnsafe }) => hasError !== isUnsafe)
      .filter(({ isUnsafe, problems }) => isUnsafe || !isCautious(problems));
    const wrongRenders = verdicts.filter(
      ({ real, renders }) => renders.fails !== (real.failure !== undefined) || renders.isDifferent !== real.isDifferent,
    );
    const causes = [
      verdicts.filter(({ real }) => real.failure !== undefined),
      verdicts.filter(({ real }) => real.isDifferent),
      verdicts.filter(({ real }) => real.rejections.length > 0),
      verdicts.filter(({ isUnsafe }) => !isUnsafe),
    ].map(({ length }) => length);
    const kinds = new Set(verdicts.flatMap((verdict) => verdict.kinds)).size;
    const [failures, differences, rejections, others] = causes;
    log(
      `Directories ${range} of seed ${seed}: ${verdicts.length} with ${kinds} kinds. The bootstrap fails for ` +
        `${failures}, the renders of ${differences} differ, the API rejects ${rejections}, and ${others} are fine. ` +
        `Disagreements: ${wrong.length} of the verdicts, ${wrongRenders.length} of the renders.`,
    );
    expect({ wrong, wrongRenders }).toEqual({ wrong: [], wrongRenders: [] });
    expect(Math.min(...causes)).toBeGreaterThan(verdicts.length / 20);
  },
  TIMEOUT_MS,
);
