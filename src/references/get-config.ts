import type { ConfigName } from '../decision/config-name.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError } from '../kube/errors.ts';
import { acceptHeaderForObject } from '../kube/resource.ts';
import { MACHINE_CONFIGS } from './sources.ts';

/**
 * Gets the metadata of a MachineConfig.
 *
 * @returns undefined if it does not exist
 * @throws ApiError, ApiUnreachable, or the signal's reason
 */
export async function getConfig(
  api: Pick<KubeApi, 'json'>,
  name: ConfigName,
  signal: AbortSignal,
): Promise<ApiObject | undefined> {
  const path = objectPath(MACHINE_CONFIGS.paths[0], name);
  try {
    return (await api.json({ path, accept: acceptHeaderForObject(true), signal })) as ApiObject;
  } catch (error) {
    // A misconfigured proxy can answer 404 without this reason.
    if (error instanceof ApiError && error.status === 404 && error.reason === 'NotFound') return undefined;
    throw error;
  }
}
