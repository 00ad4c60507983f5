import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = 'test/e2e';
const NODE_FOLDER = `${FOLDER}/node/`;
const OPERATOR_FOLDER = `${FOLDER}/operator/`;
const MACHINE_FOLDER = `${OPERATOR_FOLDER}machines/`;
const NAMES = readdirSync(join(ROOT, FOLDER), { recursive: true, encoding: 'utf8' });
const FILES = NAMES.filter((name) => name.endsWith('.test.ts')).map((name) => `${FOLDER}/${name}`);

/** The test files that need real nodes. */
export const NODE_TESTS = FILES.filter(
  (file) => file.startsWith(NODE_FOLDER) || contains(file, '/shared-node-cluster.ts'),
);
/** The test files that share a cluster with one guard process. Floods are among them, which take all processor time. */
export const GUARDED_TESTS = FILES.filter((file) => contains(file, 'sharedGuardedCluster'));
/** The test files that need the programs of the Machine Config Operator, but not its cluster. */
export const BOOTSTRAP_TESTS = FILES.filter(
  (file) => file.startsWith(`${OPERATOR_FOLDER}bootstrap-`) && !contains(file, 'OperatorCluster'),
);
/** The test files that share the cluster of the Machine Config Operator. */
export const OPERATOR_TESTS = FILES.filter(
  (file) => file.startsWith(OPERATOR_FOLDER) && !BOOTSTRAP_TESTS.includes(file),
);
const OF_A_PROJECT: ReadonlySet<string> = new Set([
  ...NODE_TESTS,
  ...BOOTSTRAP_TESTS,
  ...OPERATOR_TESTS,
  ...GUARDED_TESTS,
]);
export const OTHER_TESTS = FILES.filter((file) => !OF_A_PROJECT.has(file));

/**
 * Selects the test files that need real nodes, those that need the programs of the real operator, its cluster without
 * and with machines, and the others.
 * @param filters parts of paths, of which a file must have one. None selects all files.
 * @param isLong whether the files that end with `.long.test.ts` are among them
 */
export function selectTests(filters: readonly string[], isLong: boolean) {
  const isSelected = (file: string) =>
    (isLong || !file.endsWith('.long.test.ts')) &&
    (filters.length === 0 || filters.some((filter) => file.includes(filter)));
  return {
    nodeTests: NODE_TESTS.filter(isSelected),
    bootstrapTests: BOOTSTRAP_TESTS.filter(isSelected),
    operatorTests: OPERATOR_TESTS.filter((file) => isSelected(file) && !file.startsWith(MACHINE_FOLDER)),
    machineTests: OPERATOR_TESTS.filter((file) => isSelected(file) && file.startsWith(MACHINE_FOLDER)),
    otherTests: [...GUARDED_TESTS, ...OTHER_TESTS].filter(isSelected),
  };
}

function contains(file: string, text: string): boolean {
  return readFileSync(join(ROOT, file), 'utf8').includes(text);
}
