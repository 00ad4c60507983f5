import { afterAll, expect, test } from 'vitest';
import { recordTranscript } from '../../demo/api-transcript.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';

const installed = await InstalledCluster.start();

afterAll(() => installed.stop());

test('kube-apiserver answers as the in-memory cluster of the other tests', async () => {
  const { connection } = installed.cluster.admin;
  await expect(await recordTranscript(connection)).toMatchFileSnapshot('../../demo/api-transcript.yaml');
});
