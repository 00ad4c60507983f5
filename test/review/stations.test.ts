import { Session } from 'node:inspector/promises';
import { expect, onTestFinished, test } from 'vitest';
import { OTHER, startWorld, UNUSED, USED } from '../virtual-time/world.ts';

const SOURCE = new URL('../../src/', import.meta.url).pathname;
/** A reader opens at most so many files to follow one deletion from the socket to the log. */
const MAX_FILES = 26;
/** A real API server sends the nodes in protobuf. That of this test sends JSON. */
const NOT_SEEN = 'kube/lists/protobuf-list-parser.ts';

/** Returns the files of src/ of which a function runs during the work. */
async function findFiles(session: Session, work: () => Promise<unknown>): Promise<readonly string[]> {
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = result.filter(({ functions }) =>
    functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
  );
  return ran.flatMap(({ url }) => url.split(SOURCE)[1] ?? []);
}

test.each([
  ['denied', USED, 'MCG_IN_USE'],
  ['allowed', UNUSED, 'MCG_NOT_IN_USE'],
  ['held', OTHER, 'MCG_HELD'],
])('a deletion that is %s crosses few files', async (_case, config, code) => {
  const { world, clock, replica } = await startWorld();
  if (code === 'MCG_HELD') {
    world.setGuardSpec({ holdSuperseded: '1h' });
    world.setPoolStatus(config);
    world.setPoolStatus(USED);
    await clock.pass(2_000);
  }
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const review = async () => (await replica.review(config)).code;
  // The first one also compiles.
  expect(await review()).toBe(code);
  const files = new Set(await findFiles(session, review));
  if (code !== 'MCG_IN_USE') files.add(NOT_SEEN);
  expect(files).toContain('review/decide.ts');
  expect(files.size).toBeLessThanOrEqual(MAX_FILES);
});
