import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type Logger, pino } from 'pino';
import type { ServingCertificate } from '../../certificates/key-pair.ts';
import type { SettingsFollower } from '../../guard/settings-follower.ts';
import type { Guard } from '../../guard/guard.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { isNotServed } from '../../client/cluster-access.ts';
import { objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { toCliError } from '../../client/cluster-error.ts';
import { addClusterFlags, type ClusterFlags } from '../../client/cluster-options.ts';
import { withKubeApi } from '../../client/with-kube-api.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { advise } from '../../client/output/advice.ts';
import { formatAge } from '../../client/output/short-forms.ts';
import { Output } from '../../client/output/output.ts';
import { sendWrite } from '../../client/write.ts';
import { withStopSignal } from '../../client/signals.ts';

interface DevFlags extends ClusterFlags {
  readonly url: URL;
}

const READY_TIMEOUT_MS = 30_000;
const MAX_USER_LENGTH = 200;
const WARN = pino.levels.values['warn'];
/** Limits a session that is never stopped. Long enough for the guard not to warn of the expiry. */
const CERTIFICATE_DAYS = 90;

export function createDevCommand(): Command {
  const command = new Command('dev')
    .description('Run the guard on this machine for the current cluster, until Ctrl-C.')
    .addOption(
      new Option('--url <address>', 'address of this machine for the API server; without a port, a free one')
        .default(new URL('https://127.0.0.1'), 'https://127.0.0.1, for a control plane on this machine')
        .argParser(parseUrl),
    )
    .addHelpText(
      'after',
      `
Creates a temporary certificate, registers a webhook with failurePolicy Ignore
and prints every decision. Its denials are real. Ctrl-C removes the webhook.
After a crash, the next start removes it. It follows the MachineConfigGuard of
the cluster, but creates none and does not write its status.
Permissions: as serve; create and delete validatingwebhookconfigurations.
Exit codes: 0 stopped with SIGTERM, 1 unexpected error, 2 wrong usage or a port
in use, 3 the API server is unreachable or denies access, 130 stopped with
Ctrl-C.

Example:
  machineconfig-guard dev --context lab --url https://192.168.1.20:9443`,
    )
    .action(async (flags: DevFlags) => {
      const output = new Output(command, flags);
      const printLine = (text: string): void => output.print(`${new Date().toTimeString().slice(0, 8)} ${text}\n`);
      await withStopSignal((signal) =>
        withKubeApi(flags, 'machineconfig-guard/dev', (api) =>
          dev({ api, flags, webhook: createWebhookName(), printLine }, once(signal, 'abort')),
        ),
      );
    });
  return addClusterFlags(command);
}

interface DevSession {
  readonly api: KubeApi;
  readonly flags: DevFlags;
  readonly webhook: string;
  readonly printLine: (text: string) => void;
}

/** Unique for a user and a host: several can run `dev` on one cluster. In a pod, the user can have no name. */
function createWebhookName(): string {
  const owner = createHash('sha256').update(`${userInfo().username}@${hostname()}`).digest('hex');
  return `machineconfig-guard-dev-${owner.slice(0, 10)}`;
}

async function dev(session: DevSession, stopped: Promise<unknown>): Promise<void> {
  const { api, flags, printLine } = session;
  await removeWebhook(session);
  const { certificate, caBundle } = await createTemporaryCertificate(stripBrackets(flags.url.hostname));
  const { SettingsFollower } = await import('../../guard/settings-follower.ts');
  const settings = new SettingsFollower({ api, log: createLog('info', printLine), initialSpec: null });
  const following = new AbortController();
  void settings.run(following.signal);
  let guard: Guard | undefined;
  try {
    guard = await startDevGuard(session, certificate, settings);
    const ready = guard.whenReady(AbortSignal.timeout(READY_TIMEOUT_MS)).then(
      () => true,
      () => {
        throw new CliError(`cannot read all resources of ${api.address} within 30 s`, EXIT_CODE.clusterAccess);
      },
    );
    if ((await Promise.race([ready, stopped])) === true) await guardUntil(stopped, session, guard, caBundle);
  } finally {
    await guard?.stop();
    following.abort();
  }
}

async function guardUntil(
  stopped: Promise<unknown>,
  session: DevSession,
  guard: Guard,
  caBundle: string,
): Promise<void> {
  const { api, flags, webhook, printLine } = session;
  const url = new URL('/validate', flags.url);
  if (url.port === '') url.port = String(guard.ports.securePort);
  const clientConfig = { url: url.href, caBundle };
  const { buildWebhookConfiguration } = await import('../../install/registration.ts');
  const body = buildWebhookConfiguration({ name: webhook, clientConfig, failurePolicy: 'Ignore' });
  try {
    await sendWrite(api, { method: 'POST', path: WEBHOOK_CONFIGURATIONS_PATH, body }, { signal: NEVER_ABORTED });
    printLine(`guarding rendered MachineConfigs of ${api.address} at ${url.href}; press Ctrl-C to stop`);
    await stopped;
  } finally {
    // While the webhook is registered, the API server calls the guard.
    await removeWebhook(session).catch((error: unknown) => {
      const { message } = toCliError(error, api, flags) as Error;
      const advice = advise('remove the webhook with', ['oc', 'delete', 'validatingwebhookconfiguration', webhook]);
      throw new CliError(message, EXIT_CODE.clusterAccess, { advice, cause: error });
    });
  }
}

/** @throws ClusterAccessError, also if the API server does not answer soon */
async function removeWebhook({ api, webhook, printLine }: DevSession): Promise<void> {
  const path = objectPath(WEBHOOK_CONFIGURATIONS_PATH, webhook);
  try {
    await sendWrite(api, { method: 'DELETE', path, body: {} }, { signal: NEVER_ABORTED });
    printLine(`removed ${webhook}`);
  } catch (error) {
    if (!isNotServed(error)) throw error;
  }
}

async function startDevGuard(
  { api, flags: { url }, printLine }: DevSession,
  certificate: ServingCertificate,
  settings: SettingsFollower,
): Promise<Guard> {
  const { startGuard } = await import('../../guard/guard.ts');
  const host = stripBrackets(url.hostname);
  try {
    return await startGuard({
      api,
      certificate,
      log: createLog('warn', printLine),
      bindAddress: host.startsWith('127.') || host === '::1' ? host : undefined,
      securePort: Number(url.port),
      healthPort: 0,
      shutdownDelayMs: 0,
      settings,
      onAnswer: ({ review: { user, isDryRun }, verdict }, { ms }) => {
        const details = `${toPrintableLine(user, MAX_USER_LENGTH)}${isDryRun ? ', dry run' : ''}, ${ms.toFixed(1)} ms`;
        printLine(`${verdict.outcome.padEnd(10)} ${verdict.message} [${details}]`);
      },
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code !== 'string') throw error;
    throw new CliError(`cannot listen for ${url.host}: ${code}`, EXIT_CODE.usage);
  }
}

async function createTemporaryCertificate(host: string) {
  const [{ createAuthority }, { issueLeaf }, { createFixedCertificate }] = await Promise.all([
    import('../../certificates/authority.ts'),
    import('../../certificates/authority.ts'),
    import('../../certificates/key-pair.ts'),
  ]);
  const validity = { days: CERTIFICATE_DAYS, now: new Date() };
  const authority = await createAuthority(validity);
  const names = isIP(host) === 0 ? { dnsNames: [host], ipAddresses: [] } : { dnsNames: [], ipAddresses: [host] };
  const leaf = await issueLeaf({ authority, ...names, ...validity });
  const caBundle = Buffer.from(authority.certificatePem).toString('base64');
  return { certificate: createFixedCertificate(leaf), caBundle };
}

/** Prints changes of the settings and warnings. Decisions are printed otherwise. */
function createLog(level: 'info' | 'warn', printLine: DevSession['printLine']): Logger {
  const write = (line: string): void => {
    const fields = JSON.parse(line) as { level: number; msg: string; verdict?: unknown; holdSupersededMs?: number };
    const { holdSupersededMs: holdMs } = fields;
    const prefix = fields.level === WARN ? 'warning    ' : '';
    const hold = holdMs === undefined ? '' : `, holdSuperseded is ${formatAge(holdMs)}`;
    if (fields.verdict === undefined) printLine(prefix + fields.msg + hold);
  };
  return pino({ level, base: null }, { write });
}

function parseUrl(value: string): URL {
  const { protocol, host, pathname } = URL.canParse(value) ? new URL(value) : {};
  if (protocol !== 'https:' || !['/', '/validate'].includes(pathname ?? '')) {
    throw new InvalidArgumentError('Must be an https address without a path, such as https://192.168.1.20:9443.');
  }
  return new URL(`https://${host}`);
}

/** URLs have brackets around IPv6 addresses. */
function stripBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
