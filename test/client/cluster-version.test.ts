import { expect, test } from 'vitest';
import { readClusterVersion } from '../../src/client/cluster-version.ts';
import type { ApiRequest, KubeApi } from '../../src/kube/api.ts';
import { ApiError } from '../../src/kube/errors.ts';

function serve(objects: Readonly<Record<string, object>>, deploymentStatus = 404): KubeApi {
  const json = async ({ path }: ApiRequest) => {
    const object = Object.entries(objects).find(([name]) => path.includes(name));
    if (object === undefined) throw new ApiError(path.includes('/deployments/') ? deploymentStatus : 404, '', '');
    return await Promise.resolve(object[1]);
  };
  return { json } as KubeApi;
}

const VERSION = { gitVersion: 'v1.31.1' };
const IMAGE = 'registry:5000/guard:0.1.0@sha256:abc';

test.each([['0.2.0'], [null]])('reads the version %s of the status and the image', async (guardVersion) => {
  const api = serve({
    '/version': VERSION,
    '/namespaces/ns/deployments/': { spec: { template: { spec: { containers: [{ image: IMAGE }] } } } },
    '/machineconfigguards/cluster': { status: guardVersion === null ? {} : { version: guardVersion } },
  });
  expect(await readClusterVersion(api, 'ns')).toEqual({
    kubernetesVersion: 'v1.31.1',
    guardVersion,
    guardImage: IMAGE,
  });
});

test('a cluster without the guard has only the version of Kubernetes', async () => {
  const report = { kubernetesVersion: 'v1.31.1', guardVersion: null, guardImage: null };
  expect(await readClusterVersion(serve({ '/version': VERSION }), 'ns')).toEqual(report);
});

test('a user who may not read Deployments gets the version in the status', async () => {
  const version = { '/version': VERSION };
  const report = { kubernetesVersion: 'v1.31.1', guardVersion: '0.2.0', guardImage: null };
  const status = { '/machineconfigguards/cluster': { status: { version: '0.2.0' } } };

  expect(await readClusterVersion(serve({ ...version, ...status }, 403), 'ns')).toEqual(report);
  await expect(readClusterVersion(serve(version, 403), 'ns')).rejects.toThrow('cannot get deployments');
});
