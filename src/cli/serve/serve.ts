import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Logger } from 'pino';
import { type LeafKeyGenerator, pregenerateLeafKeys } from '../../certificates/rsa-keys.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { ServingCertificate } from '../../certificates/serving-certificate.ts';
import { createKubeApi, type ClusterFlags, addClusterFlags } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { createJsonLog, LOG_LEVELS } from './json-log.ts';
import { parseDurationOption, parsePort } from '../option-parsers.ts';
import { waitForStopSignal } from '../signals.ts';

interface ServeFlags extends ClusterFlags {
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsSecret?: SecretName;
  readonly tlsMinVersion: 'VersionTLS12' | 'VersionTLS13';
  readonly bindAddress?: string;
  readonly securePort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
  readonly shutdownDelayDuration: number;
  readonly namespace?: string;
  readonly logLevel: string;
}

interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

type CertificateSource =
  | { readonly certFile: string; readonly keyFile: string }
  | { readonly secret: SecretName; readonly newKeys: LeafKeyGenerator };

/** Names as Kubernetes' own components spell them, and what Node calls them. */
const TLS_VERSIONS = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' } as const;

/** `serve`: the guard as it runs in a cluster. */
export function createServeCommand(): Command {
  const command = new Command('serve')
    .description('Serve the admission webhook: answer the API server whether a rendered MachineConfig may be deleted.')
    .addOption(
      new Option('--tls-cert-file <file>', 'serving certificate, PEM; read again when it changes').env(
        'MCG_TLS_CERT_FILE',
      ),
    )
    .addOption(new Option('--tls-private-key-file <file>', 'its private key, PEM').env('MCG_TLS_PRIVATE_KEY_FILE'))
    .addOption(
      new Option(
        '--tls-secret <namespace/name>',
        'Secret with ca.crt and ca.key to issue a serving certificate from, instead of the two files',
      )
        .env('MCG_TLS_SECRET')
        .argParser(secretName),
    )
    .addOption(
      new Option('--tls-min-version <version>', 'oldest TLS version that is spoken')
        .choices(Object.keys(TLS_VERSIONS))
        .default('VersionTLS12')
        .env('MCG_TLS_MIN_VERSION'),
    )
    .addOption(
      new Option('--bind-address <ip>', 'address to listen on (default: all, IPv4 and IPv6)')
        .env('MCG_BIND_ADDRESS')
        .argParser(ip),
    )
    .addOption(
      new Option('--secure-port <port>', 'port of the webhook, HTTPS; 0 picks a free one')
        .default(9443)
        .env('MCG_SECURE_PORT')
        .argParser(parsePort),
    )
    .addOption(
      new Option('--health-port <port>', 'port of /healthz and /readyz, HTTP')
        .default(8081)
        .env('MCG_HEALTH_PORT')
        .argParser(parsePort),
    )
    .addOption(
      new Option('--metrics-port <port>', 'port of /metrics, HTTPS, for callers who may get it; 0 picks a free one')
        .default(8443)
        .env('MCG_METRICS_PORT')
        .argParser(parsePort),
    )
    .addOption(
      new Option('--shutdown-delay-duration <duration>', 'how long to go on serving, unready, after SIGTERM')
        .default(5_000, '5s')
        .env('MCG_SHUTDOWN_DELAY_DURATION')
        .argParser(parseDurationOption),
    )
    .addOption(
      new Option(
        '--namespace <name>',
        'namespace of the Lease by which replicas agree on who writes the status (default: that of the pod)',
      )
        .env('MCG_NAMESPACE')
        .argParser(namespaceName),
    )
    .addOption(
      new Option('--log-level <level>', 'least important lines to log')
        .choices(LOG_LEVELS)
        .default('info')
        .env('MCG_LOG_LEVEL'),
    )
    .addHelpText(
      'after',
      `
Example:
  machineconfig-guard serve --kubeconfig ~/.kube/config --tls-cert-file certs/tls.crt --tls-private-key-file certs/tls.key

Prints one JSON line {"msg":"ready",...} with the ports once it serves and has read the cluster.
SIGTERM: unready at once, finishes the calls under way, exits 0.`,
    )
    .action(serve);
  return addClusterFlags(command);
}

async function serve(flags: ServeFlags): Promise<void> {
  const source = certificateSource(flags);
  const log = createJsonLog(flags.logLevel);
  const api = await createKubeApi(flags, 'machineconfig-guard');
  const [{ startGuard }, { SettingsFollower }] = await Promise.all([
    import('../../guard/guard.ts'),
    import('../../guard/settings-follower.ts'),
  ]);
  const stopping = new AbortController();
  const stopped = waitForStopSignal();
  void stopped.then((signal) => {
    log.info({ signal }, 'stopping');
    stopping.abort();
  });
  const certificate = await servingCertificate(source, api, log, stopping.signal).catch((error: unknown) => {
    if (stopping.signal.aborted) return undefined;
    throw error;
  });
  // Stopped while there was nothing to serve with yet.
  if (certificate === undefined) return;
  const settings = new SettingsFollower({ api, log });
  void settings.run(stopping.signal);
  const guard = await startGuard({
    api,
    certificate,
    log,
    settings: () => settings.settings,
    report: { namespace: flags.namespace ?? (await ownNamespace()) },
    bindAddress: flags.bindAddress,
    securePort: flags.securePort,
    healthPort: flags.healthPort,
    metricsPort: flags.metricsPort,
    minVersion: TLS_VERSIONS[flags.tlsMinVersion],
    shutdownDelayMs: flags.shutdownDelayDuration,
  }).catch((error: unknown) => {
    stopping.abort();
    throw listenError(error, flags);
  });
  void guard.whenReady(stopping.signal).then(
    () => {
      log.info(guard.ports, 'ready');
    },
    () => {},
  );
  await stopped;
  await guard.stop();
  log.info('stopped');
}

/** Where the serving certificate is to come from. Throws a CliError unless the flags name exactly one place. */
function certificateSource({ tlsCertFile, tlsPrivateKeyFile, tlsSecret }: ServeFlags): CertificateSource {
  const files = tlsCertFile !== undefined || tlsPrivateKeyFile !== undefined;
  if (files && tlsSecret !== undefined) {
    throw new CliError('use either --tls-secret or the two file flags, not both.', EXIT_CODE.usage);
  }
  if (tlsSecret !== undefined) return { secret: tlsSecret, newKeys: pregenerateLeafKeys() };
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined) {
    throw new CliError(
      'serve needs --tls-cert-file and --tls-private-key-file (`machineconfig-guard certs` makes both), or --tls-secret.',
      EXIT_CODE.usage,
    );
  }
  return { certFile: tlsCertFile, keyFile: tlsPrivateKeyFile };
}

async function servingCertificate(
  source: CertificateSource,
  api: KubeApi,
  log: Logger,
  signal: AbortSignal,
): Promise<ServingCertificate> {
  if ('secret' in source) {
    const { followAuthoritySecret } = await import('../../certificates/authority-secret.ts');
    const { secret, newKeys } = source;
    return await followAuthoritySecret({ api, ...secret, newKeys, log, signal });
  }
  const { watchCertificateFiles, CertificateFilesError } = await import('../../certificates/certificate-files.ts');
  try {
    return await watchCertificateFiles({ ...source, log, signal });
  } catch (error) {
    throw error instanceof CertificateFilesError
      ? new CliError(error.message, EXIT_CODE.usage, { cause: error })
      : error;
  }
}

function listenError(error: unknown, flags: ServeFlags): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') return error;
  const where = flags.bindAddress ?? 'all addresses';
  return new CliError(
    `cannot listen on ports ${flags.securePort}, ${flags.healthPort} and ${flags.metricsPort} of ${where}: ${code}.`,
    EXIT_CODE.usage,
  );
}

function ip(value: string): string {
  if (isIP(value) === 0) throw new InvalidArgumentError('It must be an IPv4 or IPv6 address.');
  return value;
}

/** Kubernetes' rule for both parts (RFC 1123 label and subdomain). */
const SECRET_NAME =
  /^(?<namespace>[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\/(?<name>[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?)$/;

function secretName(value: string): SecretName {
  const { namespace, name } = SECRET_NAME.exec(value)?.groups ?? {};
  if (namespace === undefined || name === undefined) {
    throw new InvalidArgumentError('It must be NAMESPACE/NAME, such as machineconfig-guard/machineconfig-guard-ca.');
  }
  return { namespace, name };
}

/** RFC 1123 label. */
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

function namespaceName(value: string): string {
  if (!NAMESPACE.test(value)) throw new InvalidArgumentError('It must be a namespace, such as machineconfig-guard.');
  return value;
}

/** The namespace that a pod is told along with its service account; outside of one, that of the manifests. */
async function ownNamespace(): Promise<string> {
  const text = await readFile('/var/run/secrets/kubernetes.io/serviceaccount/namespace', 'utf8').catch(() => '');
  return NAMESPACE.test(text.trim()) ? text.trim() : 'machineconfig-guard';
}
