import { expect, test } from 'vitest';
import { listFiles, readFile } from '../../docs/pages.ts';

const FILES = [...listFiles('.github/workflows'), '.github/actions/setup/action.yaml'];

test('every action is pinned by the digest of a commit with its version beside it, the same in all workflows', () => {
  const actions = FILES.flatMap((file) => readFile(file).match(/uses: (?!\.\/).*/g) ?? []);
  expect(actions.length).toBeGreaterThan(15);
  for (const action of actions) expect(action).toMatch(/^uses: [\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  const names = new Set(actions.map((action) => action.replace(/@.*/, '')));
  expect(new Set(actions).size).toBe(names.size);
});
