import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { styleText } from 'node:util';
import { Command, InvalidArgumentError, Option } from 'commander';
import { pino, type Logger } from 'pino';
import type { KubeApi } from '../../kube/api.ts';
import type { Outcome } from '../../decision/verdict.ts';
import type { Decision } from '../../webhook/decision.ts';
import type { Guard } from '../../guard/guard.ts';
import type { ServingCertificate } from '../../certificates/serving-certificate.ts';
import { createKubeApi, type ClusterFlags, addClusterFlags } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { parsePort } from '../option-parsers.ts';
import { waitForStopSignal } from '../signals.ts';

interface DevFlags extends ClusterFlags {
  readonly url: URL;
  readonly securePort?: number;
}

/** How long the first read of the cluster may take before `dev` gives up. */
const READY_MS = 30_000;
/** A session that is forgotten must not leave a certificate that is valid for ever. */
const CERTIFICATE_DAYS = 7;

/** `dev`: the guard on a laptop, in front of the cluster of the current kubeconfig. */
export function createDevCommand(): Command {
  const command = new Command('dev')
    .description('Try the guard from this machine against the current cluster; nothing stays behind.')
    .addOption(
      new Option('--url <address>', 'address at which the API server reaches this machine')
        .default(new URL('https://127.0.0.1'), 'https://127.0.0.1, right for a control plane on this machine')
        .argParser(address),
    )
    .addOption(
      new Option('--secure-port <port>', 'port to listen on (default: that of --url, else a free one)').argParser(
        parsePort,
      ),
    )
    .addHelpText(
      'after',
      `
Example:
  machineconfig-guard dev --context lab --url https://192.168.1.20:9443

Makes a temporary certificate, registers a webhook with failurePolicy Ignore, prints a line for each decision, and removes
the webhook on Ctrl-C. After a crash the next start removes what was left. Refusals are real while it runs.`,
    )
    .action(dev);
  return addClusterFlags(command);
}

async function dev(flags: DevFlags): Promise<void> {
  const stopped = waitForStopSignal();
  const api = await createKubeApi(flags, 'machineconfig-guard/dev');
  const [{ describeError }, { startGuard }, { registerWebhook, unregisterWebhook }, { buildWebhookConfiguration }] =
    await Promise.all([
      import('../../kube/errors.ts'),
      import('../../guard/guard.ts'),
      import('./registration.ts'),
      import('../../install/webhook-configuration.ts'),
    ]);
  const name = registrationName();
  const inCluster = async <T>(doing: string, call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (error) {
      throw new CliError(`cannot ${doing} at ${api.address}: ${describeError(error)}.`, EXIT_CODE.cluster);
    }
  };

  if (await inCluster('remove an earlier webhook registration', unregisterWebhook(api, name))) {
    say(`removed ${name}, which an earlier run had left behind`);
  }
  const { certificate, caBundle } = await temporaryCertificate(flags.url.hostname);
  const guard = await startGuard({
    api,
    certificate,
    log: readableLog(),
    bindAddress: isLoopback(flags.url.hostname) ? bare(flags.url.hostname) : undefined,
    securePort: flags.securePort ?? Number(flags.url.port),
    healthPort: 0,
    shutdownDelayMs: 0,
    onDecision: (decision) => {
      say(decisionLine(decision));
    },
  }).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    throw typeof code === 'string'
      ? new CliError(`cannot listen for ${flags.url.host}: ${code}.`, EXIT_CODE.usage)
      : error;
  });
  let registered = false;
  try {
    const ready = guard.whenReady(AbortSignal.timeout(READY_MS)).then(() => 'ready' as const);
    const first = await Promise.race([ready.catch(() => 'late' as const), stopped]);
    if (first === 'late')
      throw new CliError(`the cluster at ${api.address} could not be read within 30 s.`, EXIT_CODE.cluster);
    if (first !== 'ready') return;
    const url = webhookUrl(flags.url, guard);
    await inCluster(
      'register the webhook',
      registerWebhook(
        api,
        buildWebhookConfiguration({ name, clientConfig: { url, caBundle }, failurePolicy: 'Ignore' }),
      ),
    );
    registered = true;
    say(`guarding rendered MachineConfigs of ${api.address} through ${url}; Ctrl-C ends it`);
    await stopped;
  } finally {
    // The webhook first: while it is registered, the API server goes on calling.
    try {
      if (registered) await goodbye(api, name, unregisterWebhook, describeError);
    } finally {
      await guard.stop();
    }
  }
}

async function goodbye(
  api: KubeApi,
  name: string,
  unregister: (api: KubeApi, name: string) => Promise<boolean>,
  reasonOf: (error: unknown) => string,
): Promise<void> {
  try {
    await unregister(api, name);
    say(`removed ${name}; the cluster is as it was`);
  } catch (error) {
    throw new CliError(
      `could not remove the webhook (${reasonOf(error)}); remove it with: oc delete validatingwebhookconfiguration ${name}`,
      EXIT_CODE.cluster,
    );
  }
}

async function temporaryCertificate(host: string): Promise<{ certificate: ServingCertificate; caBundle: string }> {
  const [{ createAuthority }, { issueLeaf }, { createFixedCertificate }] = await Promise.all([
    import('../../certificates/authority.ts'),
    import('../../certificates/leaf.ts'),
    import('../../certificates/serving-certificate.ts'),
  ]);
  const now = new Date();
  const name = bare(host);
  const authority = await createAuthority({ days: CERTIFICATE_DAYS, now });
  const leaf = await issueLeaf({
    authority,
    dnsNames: isIP(name) === 0 ? [name] : [],
    ipAddresses: isIP(name) === 0 ? [] : [name],
    days: CERTIFICATE_DAYS,
    now,
  });
  return {
    certificate: createFixedCertificate(leaf),
    caBundle: Buffer.from(authority.certificatePem).toString('base64'),
  };
}

/** One registration a person and machine: two people can try the guard at once, and each cleans up after themselves. */
function registrationName(): string {
  const owner = `${userInfo().username}@${hostname()}`;
  return `machineconfig-guard-dev-${createHash('sha256').update(owner).digest('hex').slice(0, 10)}`;
}

function webhookUrl(url: URL, guard: Guard): string {
  const whole = new URL(url);
  if (whole.port === '') whole.port = String(guard.securePort);
  whole.pathname = '/validate';
  return whole.href;
}

const COLOURS: Readonly<Record<Outcome, 'green' | 'red' | 'yellow'>> = {
  allowed: 'green',
  denied: 'red',
  'would-deny': 'yellow',
  overridden: 'yellow',
};

function decisionLine({ verdict, user, dryRun, ms }: Decision): string {
  const outcome = verdict.outcome.padEnd(10);
  const shown =
    process.stdout.isTTY && process.stdout.hasColors() ? styleText(COLOURS[verdict.outcome], outcome) : outcome;
  return `${shown} ${verdict.message} [${user}${dryRun ? ', dry run' : ''}, ${ms.toFixed(1)} ms]`;
}

function say(line: string): void {
  process.stdout.write(`${new Date().toTimeString().slice(0, 8)} ${line}\n`);
}

/** Warnings for a person. Decisions have a line of their own. */
function readableLog(): Logger {
  return pino(
    { level: 'warn', base: null },
    {
      write: (line: string) => {
        const entry = JSON.parse(line) as { msg?: string; verdict?: unknown };
        if (entry.verdict === undefined) say(`warning    ${entry.msg ?? ''}`);
      },
    },
  );
}

function address(value: string): URL {
  const text = value.includes('://') ? value : `https://${isIP(value) === 6 ? `[${value}]` : value}`;
  if (!URL.canParse(text) || new URL(text).protocol !== 'https:') {
    throw new InvalidArgumentError('It must be an https address such as https://192.168.1.20:9443.');
  }
  const url = new URL(text);
  if (!['', '/', '/validate'].includes(url.pathname) || url.search !== '' || url.username !== '') {
    throw new InvalidArgumentError('It takes a host and a port only; the path is always /validate.');
  }
  return url;
}

/** A URL writes IPv6 addresses in brackets. */
function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

function isLoopback(host: string): boolean {
  return bare(host).startsWith('127.') || bare(host) === '::1';
}
