import type { Command } from 'commander';
import { readObject } from '../../client/cluster-access.ts';
import { type ClusterFlags, withKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import {
  type FlagValue,
  type FlagValues,
  readFlags,
  RECORDED_FLAGS,
  RENDER_FLAGS_ANNOTATION,
} from '../../install/recorded-flags.ts';
import {
  ADMISSION_POLICIES,
  findInjector,
  type StoredWebhookConfiguration,
} from '../../install/webhook-configuration.ts';
import { deploymentPath, INSTALLED_NAME, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { ApiObject } from '../../kube/api-object.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const POLICY_BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
const NETWORK_POLICY = `/apis/networking.k8s.io/v1/namespaces/${INSTALLED_NAME}/networkpolicies/${INSTALLED_NAME}`;

interface Deployment {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: {
      readonly spec?: {
        readonly affinity?: unknown;
        readonly hostNetwork?: boolean;
        readonly containers?: readonly { readonly args?: readonly string[] }[];
      };
    };
  };
}

interface WebhookConfiguration extends StoredWebhookConfiguration {
  readonly webhooks?: readonly { readonly failurePolicy?: string; readonly matchConditions?: unknown }[];
}

interface NetworkPolicy {
  readonly spec?: { readonly ingress?: readonly { readonly from?: unknown }[] };
}

interface ClusterRole {
  readonly rules?: readonly { readonly resources?: readonly string[] }[];
}

/** Adds the flags that take back a flag of the installed guard. */
export function addOppositeFlags(command: Command): void {
  for (const { flag, isValid } of RECORDED_FLAGS) {
    if (isValid === undefined) command.option(getOpposite(flag), `with --from-cluster: take back ${flag}`);
  }
}

function getOpposite(flag: string): string {
  return flag.startsWith('--no-') ? flag.replace('--no-', '--') : flag.replace('--', '--no-');
}

/**
 * Keeps each flag of the installed guard that is not given, and names on stderr each flag that is not the default.
 *
 * @throws CliError also if a flag of the installed guard is unknown and not given
 */
export async function keepInstalledFlags<Flags extends ClusterFlags & FlagValues>(
  flags: Flags,
  command: Command,
): Promise<Flags> {
  const installed = await withKubeApi(flags, 'machineconfig-guard/render', readInstalledFlags);
  if (installed === undefined) return flags;
  const isGiven = (name: string): boolean => command.getOptionValueSource(name) === 'cli';
  const unknown = RECORDED_FLAGS.filter(({ name }) => !(name in installed) && !isGiven(name));
  if (unknown.length > 0) {
    const names = unknown.map(({ flag }) => flag).join(', ');
    const message =
      `cannot know whether the installed guard has ${names}: objects are missing or were changed; ` +
      'pass each of these flags, or its opposite such as --no-single-node';
    throw new CliError(message, EXIT_CODE.failure);
  }
  const kept: [string, FlagValue][] = [];
  for (const { name, flag, initial } of RECORDED_FLAGS.filter((candidate) => candidate.name in installed)) {
    const before = installed[name] ?? initial;
    const after = isGiven(name) ? flags[name] : before;
    if (!isGiven(name)) kept.push([name, before]);
    if (after === initial && before === initial) continue;
    const change = after === before ? 'is kept' : `is ${describeValue(flag, after)}`;
    const note = `${flag}: was ${describeValue(flag, before)}, ${change}`;
    command.configureOutput().writeErr?.(`machineconfig-guard: ${note}\n`);
  }
  return { ...flags, ...Object.fromEntries(kept) };
}

function describeValue(flag: string, value: FlagValue): string {
  if (typeof value === 'string') return value;
  return value === !flag.startsWith('--no-') ? 'set' : 'not set';
}

/** Undefined if no guard is installed. Without a flag that cannot be known. */
async function readInstalledFlags(api: KubeApi): Promise<FlagValues | undefined> {
  const namespace = (await readObject(api, `/api/v1/namespaces/${INSTALLED_NAME}`)) as ApiObject | undefined;
  const text = namespace?.metadata?.annotations?.[RENDER_FLAGS_ANNOTATION];
  if (typeof text !== 'string') return await recognizeFlags(api);
  try {
    return readFlags(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const flag = toPrintableLine(JSON.stringify(error.message), 200);
    const message = `the installed guard has the flag ${flag}, which this version does not know`;
    throw new CliError(message, EXIT_CODE.failure, { cause: error });
  }
}

/** The objects of an overlay, or of a version that did not record its flags. */
async function recognizeFlags(api: KubeApi): Promise<FlagValues | undefined> {
  const [deployment, webhook] = (await Promise.all([
    readObject(api, deploymentPath(INSTALLED_NAME, INSTALLED_NAME)),
    readObject(api, objectPath(WEBHOOK_CONFIGURATIONS_PATH, INSTALLED_NAME)),
  ])) as [Deployment | undefined, WebhookConfiguration | undefined];
  if (deployment === undefined && webhook === undefined) return undefined;
  const [floor, references, network, role, binding] = (await Promise.all([
    readObject(api, objectPath(POLICY_BINDINGS, ADMISSION_POLICIES.Node ?? '')),
    readObject(api, objectPath(POLICY_BINDINGS, 'references.machineconfig-guard.io')),
    readObject(api, NETWORK_POLICY),
    readObject(api, `${RBAC}/clusterroles/${INSTALLED_NAME}`),
    readObject(api, `${RBAC}/clusterrolebindings/${INSTALLED_NAME}-machineconfigs`),
  ])) as [unknown, unknown, NetworkPolicy | undefined, ClusterRole | undefined, unknown];
  // In older versions, one role has all rights.
  const isInRole = role?.rules?.some(({ resources }) => resources?.includes('machineconfigs') === true) === true;
  return {
    ...(deployment === undefined ? {} : recognizeDeployment(deployment)),
    ...(webhook === undefined ? {} : recognizeWebhook(webhook, floor !== undefined)),
    ...(network === undefined ? {} : { openNetwork: network.spec?.ingress?.[0]?.from === undefined }),
    ...(role === undefined ? {} : { machineconfigAccess: isInRole || binding !== undefined }),
    referencePolicy: references !== undefined,
  };
}

function recognizeDeployment({ spec }: Deployment): FlagValues {
  const pod = spec?.template?.spec ?? {};
  const args = pod.containers?.[0]?.args ?? [];
  const find = (flag: string): string | undefined => {
    return args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
  };
  // Somebody can have scaled the Deployment of several nodes to one replica.
  const isSingle = spec?.replicas === 1;
  const isClear = isSingle === (pod.affinity === undefined);
  return {
    ...(isClear ? { singleNode: isSingle } : {}),
    ...(find('--tls-secret') === undefined ? {} : { tls: 'generated' }),
    hostNetwork: pod.hostNetwork === true,
    mode: find('--initial-mode'),
    hold: find('--initial-hold'),
  };
}

function recognizeWebhook(configuration: WebhookConfiguration, hasFloor: boolean): FlagValues {
  const { failurePolicy, matchConditions } = configuration.webhooks?.[0] ?? {};
  const tls = findInjector(configuration) === 'service-ca' ? 'service-ca' : 'generated';
  if (failurePolicy === 'Fail') return { tls, profile: 'fail-closed' };
  if (hasFloor) return { tls, profile: 'fail-open-with-floor' };
  // Kubernetes 1.27 has no matchConditions, and there every profile fails open.
  return matchConditions === undefined ? { tls, profile: 'fail-closed' } : { tls };
}
