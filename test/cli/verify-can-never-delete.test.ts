import { expect, test } from 'vitest';
import { tryDryRunDeletion } from '../../src/inspect/trial-deletion.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { fail, fakeApi, send } from '../support/fake-api.ts';
import { NEW, OLD } from './inspected-cluster.ts';
import { verifiedCluster } from './verified-cluster.ts';

const CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';
const PROOF = `${CONFIGS}/machineconfig-guard-verify?dryRun=Proof`;

test('first a proof that can hurt nobody, then the config that nobody uses, then one in use; all of them dry runs', async () => {
  const { run, sandbox, deletions } = await verifiedCluster({ guarded: false });
  const before = sandbox.resourceVersion;

  expect((await run('verify')).exitCode).toBe(1);

  const asked = deletions.map(({ path, query }) => `${path}?${query.toString()}`);
  expect(asked).toEqual([PROOF, `${CONFIGS}/${OLD}?dryRun=All`, `${CONFIGS}/${NEW}?dryRun=All`]);
  expect(sandbox.resourceVersion).toBe(before);
});

test('a server or proxy that loses what makes it a dry run: exit code 3, and nothing is tried', async () => {
  const { run, sandbox, deletions, address } = await verifiedCluster();
  // What the real one answers to a plain deletion of an object that does not exist.
  const body = { kind: 'Status', reason: 'NotFound', message: 'machineconfigs "machineconfig-guard-verify" not found' };
  sandbox.faults.intercept(({ method }) => (method === 'DELETE' ? { status: 404, body } : 'pass'));

  const { exitCode, stderr } = await run('verify');

  expect(exitCode).toBe(3);
  expect(stderr).toBe(
    `machineconfig-guard: the API server at ${address} (or a proxy in front of it) does not honour dry runs, so nothing was tried: ` +
      'it answered 404 machineconfigs "machineconfig-guard-verify" not found where 422 was due.\n',
  );
  expect(deletions.map(({ path }) => path)).toEqual([`${CONFIGS}/machineconfig-guard-verify`]);
});

test.each([
  ['is gone', undefined],
  ['is another one', { uid: 'another' }],
  ['is about to go', { uid: 'its-own', deletionTimestamp: '2026-11-21T00:00:00Z' }],
])('afterwards the object %s: said at once', async (_name, metadata) => {
  const { api } = await fakeApi(({ path }, response) => {
    if (path === `${CONFIGS}/${NEW}` && response.req.method === 'DELETE') send(response, '{"kind":"Status"}');
    else if (metadata === undefined) fail(response, 404);
    else send(response, JSON.stringify({ metadata }));
  });

  await expect(tryDryRunDeletion(api, { config: toConfigName(NEW), uid: 'its-own' })).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringMatching(new RegExp(`^${NEW} is gone after a dry run: .* audit log`)) as string,
  });
});

test('afterwards the object is there as before: the answer counts', async () => {
  const { api } = await fakeApi((_asked, response) => {
    send(response, JSON.stringify({ metadata: { uid: 'its-own' } }));
  });

  expect(await tryDryRunDeletion(api, { config: toConfigName(NEW), uid: 'its-own' })).toEqual({
    status: 200,
    message: '',
  });
});

test('what makes it a dry run is in the body too, together with the identity of the object', async () => {
  const bodies: unknown[] = [];
  const { api } = await fakeApi(async (_asked, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of response.req) chunks.push(chunk as Buffer);
    bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
    fail(response, 403);
  });

  await tryDryRunDeletion(api, { config: toConfigName(NEW), uid: 'its-own' });

  expect(bodies).toEqual([
    { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'], preconditions: { uid: 'its-own' } },
  ]);
});
