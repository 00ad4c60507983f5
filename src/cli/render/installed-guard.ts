import type { V1Deployment, V1ValidatingWebhookConfiguration } from '@kubernetes/client-node';
import { type Authority, parseAuthority } from '../../certificates/authority.ts';
import { orForbidden, readObject } from '../../client/cluster-access.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { readGuard, type StoredGuard } from '../../client/guard-report.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { parseDuration } from '../../common/duration.ts';
import { shell, verbatim } from '../../diagnosis/shell-command.ts';
import { parseSettings } from '../../api/settings.ts';
import { IMAGE_ANNOTATION } from '../../install/installation.ts';
import { readAuthoritySecret } from '../../install/manifest.ts';
import { deploymentPath, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import {
  describeFlag,
  type FlagValue,
  type FlagValues,
  getDefaults,
  parseFlagLabels,
  RECORDED_FLAGS,
  type RenderFlags,
} from './render-flags.ts';
import { AUTHORITY_SECRET_PATH, INSTALLED_NAME } from '../../api/paths.ts';

const INFRASTRUCTURE_PATH = '/apis/config.openshift.io/v1/infrastructures/cluster';
/** Only a MachineConfigGuard that the guard creates gets them. */
const INITIAL_SETTINGS: ReadonlySet<string> = new Set(['mode', 'hold']);

const SINGLE_NODE_NOTE = '--single-node: is set, because the cluster has one control-plane node';

/**
 * The flags with each flag of the installed guard that the user does not pass, its image and authority, and what
 * the user should know about them. `before` has the flags of the installed guard. It is undefined without one.
 */
export async function keepInstalled(api: KubeApi, given: RenderFlags, isGiven: (name: string) => boolean, now: Date) {
  const [installed, isSingleNode, guard] = await Promise.all([
    readInstalled(api),
    hasSingleNode(api),
    orForbidden(readGuard(api)),
  ]);
  // One node runs one replica, also if nothing shows how many the guard had.
  const topology = installed?.hasDeployment === true ? {} : { singleNode: isSingleNode };
  const before: FlagValues | undefined = installed && { ...installed.flags, ...topology };
  assertSameIssuer(before?.['tls'], isGiven('tls') ? given.tls : undefined);
  const kept = Object.entries(before ?? topology).filter(([name]) => !isGiven(name));
  const image = given.image ?? installed?.image;
  const flags = { ...given, image, ...Object.fromEntries(kept) } as RenderFlags & FlagValues;
  const isReplaced = given.newAuthority === true;
  const authority = flags.tls === 'generated' ? await readAuthority(api, isReplaced, now) : undefined;
  const notes = [
    ...(before === undefined ? [] : describeFlags(before, flags, guard !== undefined)),
    ...compareSettings(flags, isGiven, guard),
  ];
  if (!isGiven('singleNode') && before === undefined && isSingleNode) notes.push(SINGLE_NODE_NOTE);
  if (before?.['tls'] === 'generated' && authority === undefined && !isReplaced) {
    notes.push(
      'the Secret machineconfig-guard-ca is missing: created a new authority. Calls fail until all pods use it',
    );
  }
  return { flags, before, authority, notes };
}

/** Undefined without a guard. One object shows the flags if the other is missing. */
export async function readInstalled(api: KubeApi) {
  const [deployment, webhook] = await Promise.all([
    readObject<V1Deployment>(api, deploymentPath(INSTALLED_NAME, INSTALLED_NAME)),
    readObject<V1ValidatingWebhookConfiguration>(api, objectPath(WEBHOOK_CONFIGURATIONS_PATH, INSTALLED_NAME)),
  ]);
  if (deployment === undefined && webhook === undefined) return undefined;
  const image = deployment?.spec?.template.spec?.containers[0]?.image;
  return {
    flags: parseFlagLabels({ ...deployment?.metadata?.labels, ...webhook?.metadata?.labels }),
    hasDeployment: deployment !== undefined,
    image: image ?? webhook?.metadata?.annotations?.[IMAGE_ANNOTATION],
  };
}

interface Infrastructure {
  readonly status?: { readonly controlPlaneTopology?: string };
}

async function hasSingleNode(api: KubeApi): Promise<boolean> {
  const infrastructure = await orForbidden(readObject<Infrastructure>(api, INFRASTRUCTURE_PATH));
  return infrastructure?.status?.controlPlaneTopology === 'SingleReplica';
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

/** Undefined also for one that is unusable, if a new one replaces it. */
async function readAuthority(api: KubeApi, isReplaced: boolean, now: Date): Promise<Authority | undefined> {
  const secret = await readObject(api, AUTHORITY_SECRET_PATH);
  if (secret === undefined) return undefined;
  const authority = readAuthoritySecret(secret);
  try {
    parseAuthority(authority, now);
    return authority;
  } catch (error) {
    if (isReplaced) return undefined;
    const { message: reason } = error as Error;
    const message = `the authority in the Secret machineconfig-guard-ca cannot be used: ${reason}`;
    throw new CliError(`${message}; create a new authority with --new-authority`, EXIT_CODE.failure, { cause: error });
  }
}

function describeFlags(before: FlagValues, after: FlagValues, hasGuard: boolean): (string | Advice)[] {
  const initial = getDefaults();
  return RECORDED_FLAGS.flatMap((option) => {
    const name = option.attributeName();
    if (hasGuard && INITIAL_SETTINGS.has(name)) return [];
    const [usual, old, current] = [initial, before, after].map((values) => describeFlag(option, values[name]));
    if (current === old && old === usual) return [];
    return [`${option.long}: was ${old}, ${current === old ? 'is kept' : `is ${current}`}`];
  });
}

/** The guard follows its MachineConfigGuard, and not the flags. */
function compareSettings(
  { mode, hold }: FlagValues,
  isGiven: (name: string) => boolean,
  guard: StoredGuard | undefined,
): Advice[] {
  const settings = parseSettings(guard);
  const spec = {
    ...(isGiven('mode') && mode !== settings.mode && { mode }),
    ...(isGiven('hold') && parseDuration(String(hold)) !== settings.holdSupersededMs && { holdSuperseded: hold }),
  };
  if (guard === undefined || Object.keys(spec).length === 0) return [];
  const text = 'the existing MachineConfigGuard keeps its settings; change them with';
  return [advise(text, shell`oc patch mcguard cluster --type=merge -p ${verbatim(JSON.stringify({ spec }))}`)];
}
