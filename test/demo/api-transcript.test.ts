import { expect, test } from 'vitest';
import { startTestCluster } from '../support/test-cluster.ts';
import { testTls } from '../support/tls.ts';
import { recordTranscript } from './api-transcript.ts';

// test/e2e/contract writes the file from the answers of kube-apiserver.
test('the in-memory cluster answers as kube-apiserver', async () => {
  const { url } = await startTestCluster();
  const { ca } = await testTls();
  await expect(await recordTranscript({ url, ca, token: 't' })).toMatchFileSnapshot('api-transcript.yaml');
});
