import type {
  V1ClusterRole,
  V1Deployment,
  V1NetworkPolicy,
  V1PodSpec,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node';
import { orForbidden, readObject } from '../../client/cluster-access.ts';
import { type ClusterFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { ADMISSION_POLICIES, findInjector, POLICY_BINDINGS_PATH } from '../../install/webhook-configuration.ts';
import { deploymentPath, INSTALLED_NAME, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import {
  describeFlag,
  type FlagValue,
  type FlagValues,
  getName,
  parseFlags,
  RECORDED_FLAGS,
  RENDER_FLAGS_ANNOTATION,
} from './recorded-flags.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NETWORK_POLICY = `/apis/networking.k8s.io/v1/namespaces/${INSTALLED_NAME}/networkpolicies/${INSTALLED_NAME}`;

/**
 * Returns the flags with each flag of the installed guard that is not given, and a note for each that is not the
 * default. Reads them from the annotation or, without it, from the objects. They are undefined without a guard.
 *
 * @param isGiven whether the user passes a flag
 * @throws CliError if a flag is unknown and not given, or if the issuer of the certificates would change
 */
export async function keepInstalledFlags<Flags extends ClusterFlags & FlagValues>(
  flags: Flags,
  isGiven: (name: string) => boolean,
) {
  const [installed, isSingleNode] = await withKubeApi(flags, 'machineconfig-guard/render', async (api) =>
    Promise.all([findFlags(api), hasSingleNode(api)]),
  );
  if (installed === undefined) {
    if (!isSingleNode || isGiven('singleNode')) return { flags, installed, notes: [] };
    const note = '--single-node: is set, because the cluster has one control-plane node';
    return { flags: { ...flags, singleNode: true }, installed, notes: [note] };
  }
  const unknown = RECORDED_FLAGS.filter((option) => !(getName(option) in installed) && !isGiven(getName(option)));
  if (unknown.length > 0) {
    const message =
      `cannot know whether the installed guard has ${unknown.map(({ long }) => long).join(', ')}: ` +
      'objects are missing or were changed; pass each of these flags, or its opposite such as --no-single-node';
    throw new CliError(message, EXIT_CODE.failure);
  }
  assertSameIssuer(installed.tls, isGiven('tls') ? flags.tls : undefined);
  const kept = RECORDED_FLAGS.map(getName).filter((name) => !isGiven(name));
  const merged: Flags = { ...flags, ...Object.fromEntries(kept.map((name) => [name, installed[name]])) };
  const initial = parseFlags('');
  const notes = RECORDED_FLAGS.flatMap((option) => {
    const name = getName(option);
    const [usual, before, after] = [initial, installed, merged].map((values) => describeFlag(option, values[name]));
    if (after === before && before === usual) return [];
    return [`${option.long}: was ${before}, ${after === before ? 'is kept' : `is ${after}`}`];
  });
  return { flags: merged, installed, notes };
}

/** Calls fail from the new caBundle until every pod has a certificate of the new issuer. */
function assertSameIssuer(installed: FlagValue, given: FlagValue): void {
  const isForeign = installed === 'cert-manager';
  if (!isForeign && (given === undefined || installed === undefined || given === installed)) return;
  const reason = isForeign
    ? 'cert-manager issues the certificates of the installed guard; apply the overlay cert-manager with the new image'
    : `the installed guard has --tls ${String(installed)}, which an upgrade cannot change; leave out --tls`;
  throw new CliError(`${reason}, or uninstall it first`, EXIT_CODE.failure);
}

async function hasSingleNode(api: KubeApi): Promise<boolean> {
  const path = '/apis/config.openshift.io/v1/infrastructures/cluster';
  const infrastructure = (await orForbidden(readObject(api, path))) as
    { readonly status?: { readonly controlPlaneTopology?: string } } | undefined;
  return infrastructure?.status?.controlPlaneTopology === 'SingleReplica';
}

/** Without a flag that cannot be known. */
async function findFlags(api: KubeApi): Promise<FlagValues | undefined> {
  const namespace = (await readObject(api, `/api/v1/namespaces/${INSTALLED_NAME}`)) as ApiObject | undefined;
  const text = namespace?.metadata?.annotations?.[RENDER_FLAGS_ANNOTATION];
  if (typeof text !== 'string') return await recognizeFlags(api);
  try {
    return parseFlags(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const reason = toPrintableLine(error.message, 200);
    const message = `the installed guard has flags that this version does not know: ${reason}`;
    throw new CliError(message, EXIT_CODE.failure, { cause: error });
  }
}

/** The objects of an overlay, or of a version that did not record its flags. */
async function recognizeFlags(api: KubeApi): Promise<FlagValues | undefined> {
  const [deployment, webhook] = (await Promise.all([
    readObject(api, deploymentPath(INSTALLED_NAME, INSTALLED_NAME)),
    readObject(api, objectPath(WEBHOOK_CONFIGURATIONS_PATH, INSTALLED_NAME)),
  ])) as [V1Deployment | undefined, V1ValidatingWebhookConfiguration | undefined];
  if (deployment === undefined && webhook === undefined) return undefined;
  const [floor, references, network, role, binding] = (await Promise.all([
    readObject(api, objectPath(POLICY_BINDINGS_PATH, ADMISSION_POLICIES.Node ?? '')),
    readObject(api, objectPath(POLICY_BINDINGS_PATH, 'references.machineconfig-guard.io')),
    readObject(api, NETWORK_POLICY),
    readObject(api, `${RBAC}/clusterroles/${INSTALLED_NAME}`),
    readObject(api, `${RBAC}/clusterrolebindings/${INSTALLED_NAME}-machineconfigs`),
  ])) as [unknown, unknown, V1NetworkPolicy | undefined, V1ClusterRole | undefined, unknown];
  const { containers = [] } = getPod(deployment);
  const args = (containers[0]?.args ?? []).map((arg) => arg.split('='));
  const find = (flag: string): string | undefined => args.find(([name]) => name === flag)?.[1];
  return {
    // Without a Deployment, they are those of the existing MachineConfigGuard.
    mode: find('--initial-mode'),
    hold: find('--initial-hold'),
    ...(deployment && recognizeDeployment(deployment)),
    ...(webhook && recognizeWebhook(webhook, floor !== undefined)),
    ...(network && { openNetwork: !Object.hasOwn(network.spec?.ingress?.[0] ?? {}, 'from') }),
    ...(role && { machineconfigAccess: binding !== undefined }),
    referencePolicy: references !== undefined,
  };
}

function getPod(deployment: V1Deployment | undefined): Partial<V1PodSpec> {
  return deployment?.spec?.template?.spec ?? {};
}

function recognizeDeployment(deployment: V1Deployment): FlagValues {
  const { affinity, hostNetwork = false } = getPod(deployment);
  // Somebody can have scaled the Deployment of several nodes to one replica.
  const isSingle = deployment.spec?.replicas === 1;
  const isClear = isSingle === (affinity === undefined);
  return { ...(isClear && { singleNode: isSingle }), hostNetwork };
}

function recognizeWebhook(configuration: V1ValidatingWebhookConfiguration, hasFloor: boolean): FlagValues {
  const { failurePolicy, matchConditions } = configuration.webhooks?.[0] ?? {};
  const tls = findInjector(configuration) ?? 'generated';
  if (failurePolicy === 'Fail') return { tls, profile: 'fail-closed' };
  if (hasFloor) return { tls, profile: 'fail-open-with-floor' };
  // Kubernetes 1.27 has no matchConditions, and there every profile fails open.
  return matchConditions === undefined ? { tls, profile: 'fail-closed' } : { tls };
}
