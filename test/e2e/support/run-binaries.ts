import { availableReleases, findBinaries, NoControlPlane, type Binaries } from '../control-plane/binaries.ts';

/** The variable by which `test/e2e/run.ts` tells a test run which Kubernetes release it is about. */
export const RELEASE_VARIABLE = 'MCG_E2E_KUBERNETES';

/** The binaries of the release that this run is about: the newest one unless `run.ts` says otherwise. */
export async function runBinaries(): Promise<Binaries> {
  const wanted = process.env[RELEASE_VARIABLE];
  const releases = await availableReleases();
  const release = wanted === undefined ? releases[0] : releases.find((one) => one.kubernetes === wanted);
  if (release === undefined) throw new NoControlPlane(`${RELEASE_VARIABLE}=${wanted} is not a release of ours.`);
  return findBinaries(release, (line) => console.error(line));
}
