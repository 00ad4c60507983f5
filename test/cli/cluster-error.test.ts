import { expect, test } from 'vitest';
import { toCliError } from '../../src/cli/cluster-error.ts';
import { ClusterAccessError } from '../../src/inspect/cluster-access.ts';
import { DryRunError } from '../../src/inspect/trial-deletion.ts';
import { MACHINE_CONFIGS_PATH, NODES_PATH, POOLS_PATH } from '../../src/kube/api-paths.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';

const API = { address: 'api:6443' } as KubeApi;
const MCO = 'machineconfiguration.openshift.io';
const SECRET_PATH = '/api/v1/namespaces/ns/secrets/name';

const apiError = (status: number): ApiError => new ApiError(status, '', 'the\nreason');

test.each<['get' | 'list' | 'delete', string, Error, number, string]>([
  [
    'list',
    NODES_PATH,
    apiError(403),
    3,
    'the API server at api:6443 does not permit you to list nodes; ' +
      'the role cluster-reader does (check with: oc auth can-i list nodes).',
  ],
  [
    'delete',
    `${MACHINE_CONFIGS_PATH}/a`,
    apiError(403),
    3,
    `the API server at api:6443 does not permit you to delete machineconfigs.${MCO} ` +
      `(check with: oc auth can-i delete machineconfigs.${MCO}).`,
  ],
  [
    'get',
    SECRET_PATH,
    apiError(403),
    3,
    'the API server at api:6443 does not permit you to get secrets in the namespace ns ' +
      '(check with: oc auth can-i get secrets -n ns).',
  ],
  [
    'get',
    SECRET_PATH,
    apiError(401),
    3,
    'the API server at api:6443 does not accept the credentials of this kubeconfig; log in again (oc login).',
  ],
  [
    'list',
    POOLS_PATH,
    apiError(404),
    3,
    `the API server at api:6443 does not serve machineconfigpools.${MCO}: ` +
      'it is not OpenShift, or the Machine Config Operator is not installed yet.',
  ],
  [
    'get',
    SECRET_PATH,
    apiError(500),
    3,
    'the API server at api:6443 answered 500 to get secrets in the namespace ns: the reason.',
  ],
  [
    'list',
    NODES_PATH,
    new ApiUnreachable('api:6443 cannot be reached: X'),
    3,
    'cannot list nodes: api:6443 cannot be reached: X.',
  ],
  ['list', NODES_PATH, apiError(400), 2, '--role and --selector do not make a label selector: the reason.'],
])('explains a failed %s of %s (%s) with exit code %i', (verb, path, cause, exitCode, message) => {
  const error = toCliError(new ClusterAccessError(verb, path, cause), API);
  expect(error).toMatchObject({ exitCode, message });
});

test('explains a timeout and an unsafe dry run with exit code 3', () => {
  const timeout = new DOMException('took longer', 'TimeoutError');
  expect(toCliError(timeout, API)).toMatchObject({
    exitCode: 3,
    message: 'the API server at api:6443 did not answer in time.',
  });
  expect(toCliError(new DryRunError('unsafe.'), API)).toMatchObject({ exitCode: 3, message: 'unsafe.' });
});

test('returns any other error unchanged', () => {
  const error = new TypeError('a bug');
  expect(toCliError(error, API)).toBe(error);
});
