import { afterAll, expect, test } from 'vitest';

import { KubeClient } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { deleted, refusedInUse, sharedCluster } from '../support/cluster.ts';
import { machineConfig, renderedName } from '../support/objects.ts';

const cluster = sharedCluster();
/** A second caller beside the API server, which can tell whether its connection was kept. */
const caller = new KubeClient(cluster.connection.webhook);

afterAll(() => caller.close());

/** Asks the guard about a config that it need not look for, because its name is no rendered one. */
function ask() {
  const oldObject = machineConfig({ name: '99-worker-ssh' });
  return caller.request('POST', '/validate?timeout=5s', {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: renderedName(),
      kind: { group: 'machineconfiguration.openshift.io', version: 'v1', kind: 'MachineConfig' },
      resource: { group: 'machineconfiguration.openshift.io', version: 'v1', resource: 'machineconfigs' },
      operation: 'DELETE',
      userInfo: { username: 'e2e' },
      oldObject,
    },
  });
}

// node:http closes idle connections after 5 s unless told otherwise; the API server keeps them for 90 s and would lose
// the race now and then.
test.for([7, 65])(
  'after %i s of silence the connections are still there and the next calls are answered',
  { timeout: 100_000 },
  async (seconds) => {
    const used = await cluster.config();
    const node = await cluster.node({ currentConfig: used });
    const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
    const free = await Promise.all(Array.from({ length: 8 }, () => cluster.config()));
    await Promise.all(Array.from({ length: 8 }, () => cluster.delete(used)));

    expect((await ask()).status).toBe(200);

    await pause(seconds * 1_000);

    expect(await ask()).toMatchObject({ status: 200, reused: true });

    // As many at once as there may be idle connections by now.
    const responses = await Promise.all([used, ...free].map((config) => cluster.delete(config)));
    const [first, ...others] = responses;
    if (first === undefined) throw new Error('no response');
    expect(await cluster.outcome(used, first)).toEqual(refusedInUse(used, referrers));
    for (const [index, response] of others.entries()) {
      const config = free[index] ?? '';
      expect(await cluster.outcome(config, response)).toEqual(deleted(config));
    }
  },
);
