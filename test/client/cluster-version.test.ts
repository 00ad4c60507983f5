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
const createDeployment = (image: string) => ({
  spec: { template: { spec: { containers: [{ image }] } } },
});

test.each([
  ['registry:5000/guard:0.1.0', undefined, '0.1.0'],
  ['registry:5000/guard:0.1.0@sha256:abc', undefined, '0.1.0'],
  ['registry:5000/guard@sha256:abc', undefined, null],
  ['registry:5000/guard@sha256:abc', '0.2.0', '0.2.0'],
])('the image %s and the status version %s are version %s', async (image, version, guardVersion) => {
  const api = serve({
    '/version': VERSION,
    '/namespaces/ns/deployments/': createDeployment(image),
    '/machineconfigguards/cluster': { status: { version } },
  });
  const report = { kubernetesVersion: 'v1.31.1', guardVersion, guardImage: image };
  expect(await readClusterVersion(api, 'ns')).toEqual(report);
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
