import { expect, test } from 'vitest';
import { NEW, OLD } from './inspected-cluster.ts';
import { type VerifiedCluster, verifiedCluster } from './verified-cluster.ts';

const CONFLICT = { kind: 'Status', reason: 'Conflict', message: 'the UID in the precondition does not match' };
const NOT_FOUND = { kind: 'Status', reason: 'NotFound', message: 'not found' };

/** The first deletions of this config are answered as if it had gone, or had been made anew. */
function goes({ sandbox }: VerifiedCluster, config: string, times: number, status: 404 | 409): void {
  let left = times;
  sandbox.faults.intercept(({ method, path }) => {
    if (method !== 'DELETE' || !path.endsWith(config) || left === 0) return 'pass';
    left -= 1;
    return { status, body: status === 404 ? NOT_FOUND : CONFLICT };
  });
}

test.each([404, 409] as const)(
  'the config in use goes before it is asked about (%i): another look, another try',
  async (status) => {
    const cluster = await verifiedCluster();
    goes(cluster, NEW, 2, status);

    expect((await cluster.run('verify')).exitCode).toBe(0);
    // That of the unused one is not repeated.
    expect(cluster.deletions.map(({ path }) => path.slice(path.lastIndexOf('/') + 1))).toEqual([
      'machineconfig-guard-verify',
      OLD,
      NEW,
      NEW,
      NEW,
    ]);
  },
);

test('it goes each time: given up, without a verdict on the guard', async () => {
  const cluster = await verifiedCluster();
  goes(cluster, NEW, Infinity, 404);

  const { exitCode, stdout } = await cluster.run('verify');

  expect(exitCode).toBe(1);
  expect(stdout).toContain(
    'NOT PROTECTED: there is nothing to try it with: the configs that it was tried with went away meanwhile.',
  );
  expect(stdout).toContain('Do: run it once more');
});

test('the one that nobody uses goes: told nothing of it', async () => {
  const cluster = await verifiedCluster();
  goes(cluster, OLD, Infinity, 404);

  const { exitCode, stdout } = await cluster.run('verify');

  expect(exitCode).toBe(0);
  expect(stdout).not.toContain('unused');
});
