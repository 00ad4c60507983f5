import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FOLDER = 'test/e2e';
/** The tests of failing pods and nodes. They take minutes, so they run only on demand. */
export const NODE_TESTS = `${FOLDER}/node`;
/** Measures on a quiet machine, so it runs alone. */
const MEASUREMENTS = `${NODE_TESTS}/resources.test.ts`;

export interface NodeTests {
  /** Test files of this run that need nodes. */
  readonly selected: readonly string[];
  /** The other test files that need nodes. */
  readonly others: readonly string[];
}

/**
 * Selects the tests that need real nodes.
 *
 * @param filters parts of paths, of which a test file must have one. None selects all files.
 * @param isLong whether the run includes the tests on demand
 */
export async function selectNodeTests(filters: readonly string[], isLong: boolean): Promise<NodeTests> {
  const isSelected = (file: string) => {
    if (filters.length > 0 && !filters.some((filter) => file.includes(filter))) return false;
    if (file === MEASUREMENTS) return filters.includes(MEASUREMENTS);
    return !isOnDemand(file) || isLong || filters.some(isOnDemand);
  };
  const files = await findNodeTests();
  return {
    selected: files.filter(isSelected),
    others: files.filter((file) => !isSelected(file)),
  };
}

function isOnDemand(path: string): boolean {
  return path.startsWith(NODE_TESTS);
}

/** The tests in the folder of the nodes, and those that share a cluster with nodes. */
async function findNodeTests(): Promise<readonly string[]> {
  const names = await readdir(join(ROOT, FOLDER), { recursive: true });
  const files = names.filter((name) => name.endsWith('.test.ts')).map((name) => `${FOLDER}/${name}`);
  const needsNodes = async (file: string) =>
    isOnDemand(file) || (await readFile(join(ROOT, file), 'utf8')).includes('/shared-node-cluster.ts');
  const needs = await Promise.all(files.map(needsNodes));
  return files.filter((_file, index) => needs[index]);
}
