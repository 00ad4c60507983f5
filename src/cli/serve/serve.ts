import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { Command, InvalidArgumentError } from 'commander';
import type { Logger } from 'pino';
import { type LeafKeyGenerator, pregenerateLeafKeys } from '../../certificates/rsa-keys.ts';
import type { ServingCertificate } from '../../certificates/serving-certificate.ts';
import type { KubeApi } from '../../kube/api.ts';
import { addClusterFlags, type ClusterFlags, createKubeApi } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import { createEnvOption, createParser, parsePort, toDurationOption } from '../option-parsers.ts';
import { waitForStopSignal } from '../signals.ts';
import { createJsonLog, LOG_LEVELS } from './json-log.ts';

interface ServeFlags extends ClusterFlags {
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsSecret?: string;
  readonly tlsMinVersion: keyof typeof TLS_VERSIONS;
  readonly bindAddress?: string;
  readonly securePort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
  readonly shutdownDelayDuration: number;
  readonly namespace?: string;
  readonly logLevel: string;
}

const TLS_VERSIONS = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' } as const;

const EXAMPLE_FILES = '--tls-cert-file certs/tls.crt --tls-private-key-file certs/tls.key';

/** RFC 1123 label. */
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const parseNamespace = createParser(NAMESPACE, 'It must be a namespace, such as machineconfig-guard.');
/** RFC 1123 label and subdomain. */
const SECRET_NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\/[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/;
const EXAMPLE_SECRET = 'machineconfig-guard/machineconfig-guard-ca';
const parseSecretName = createParser(SECRET_NAME, `It must be NAMESPACE/NAME, such as ${EXAMPLE_SECRET}.`);

export function createServeCommand(): Command {
  const command = new Command('serve').description(
    'Serve the admission webhook: answer the API server whether a rendered MachineConfig may be deleted.',
  );
  const addFlag = (...option: Parameters<typeof createEnvOption>) => command.addOption(createEnvOption(...option));
  addFlag('--tls-cert-file <file>', 'serving certificate, PEM; read again when it changes');
  addFlag('--tls-private-key-file <file>', 'its private key, PEM');
  addFlag(
    '--tls-secret <namespace/name>',
    'Secret with ca.crt and ca.key to issue a serving certificate from, instead of the two files',
    parseSecretName,
  );
  command.addOption(
    createEnvOption('--tls-min-version <version>', 'oldest TLS version that is spoken')
      .choices(Object.keys(TLS_VERSIONS))
      .default('VersionTLS12'),
  );
  addFlag('--bind-address <ip>', 'address to listen on (default: all, IPv4 and IPv6)', parseIpAddress);
  addFlag('--secure-port <port>', 'port of the webhook, HTTPS; 0 picks a free one', parsePort, 9443);
  addFlag('--health-port <port>', 'port of /healthz and /readyz, HTTP', parsePort, 8081);
  addFlag(
    '--metrics-port <port>',
    'port of /metrics, HTTPS, for callers who may get it; 0 picks a free one',
    parsePort,
    8443,
  );
  const delay = createEnvOption(
    '--shutdown-delay-duration <duration>',
    'how long to go on serving, unready, after SIGTERM',
  );
  command.addOption(toDurationOption(delay, '5s'));
  addFlag(
    '--namespace <name>',
    'namespace of the Lease by which replicas agree on who writes the status (default: that of the pod)',
    parseNamespace,
  );
  const logLevel = createEnvOption('--log-level <level>', 'least important lines to log');
  command.addOption(logLevel.choices(LOG_LEVELS).default('info'));
  command
    .addHelpText(
      'after',
      `
Example:
  machineconfig-guard serve --kubeconfig ~/.kube/config ${EXAMPLE_FILES}

Prints one JSON line {"msg":"ready",...} with the ports once it serves and has read the cluster.
SIGTERM: unready at once, finishes the calls under way, exits 0.`,
    )
    .action(serve);
  return addClusterFlags(command);
}

async function serve(flags: ServeFlags): Promise<void> {
  assertCertificateSource(flags);
  // Generating keys takes longer than loading the packages.
  const newKeys = flags.tlsSecret === undefined ? undefined : pregenerateLeafKeys();
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
  const certificate = await loadCertificate(flags, newKeys, { api, log, signal: stopping.signal }).catch(
    (error: unknown) => {
      if (stopping.signal.aborted) return undefined;
      throw error;
    },
  );
  // The process was stopped before there was a certificate.
  if (certificate === undefined) return;
  const settings = new SettingsFollower({ api, log });
  void settings.run(stopping.signal);
  const guard = await startGuard({
    api,
    certificate,
    log,
    settings: () => settings.settings,
    report: { namespace: flags.namespace ?? (await readPodNamespace()) },
    bindAddress: flags.bindAddress,
    securePort: flags.securePort,
    healthPort: flags.healthPort,
    metricsPort: flags.metricsPort,
    minVersion: TLS_VERSIONS[flags.tlsMinVersion],
    shutdownDelayMs: flags.shutdownDelayDuration,
  }).catch((error: unknown) => {
    stopping.abort();
    throw toListenError(error, flags);
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

function assertCertificateSource({ tlsCertFile, tlsPrivateKeyFile, tlsSecret }: ServeFlags): void {
  const hasFile = tlsCertFile !== undefined || tlsPrivateKeyFile !== undefined;
  const hasBothFiles = tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined;
  if (hasFile && tlsSecret !== undefined) {
    throw new CliError('use either --tls-secret or the two file flags, not both.', EXIT_CODE.usage);
  }
  if (!hasBothFiles && tlsSecret === undefined) {
    throw new CliError(
      'serve needs --tls-cert-file and --tls-private-key-file ' +
        '(`machineconfig-guard certs` makes both), or --tls-secret.',
      EXIT_CODE.usage,
    );
  }
}

async function loadCertificate(
  { tlsSecret, tlsCertFile = '', tlsPrivateKeyFile = '' }: ServeFlags,
  newKeys: LeafKeyGenerator | undefined,
  options: { readonly api: KubeApi; readonly log: Logger; readonly signal: AbortSignal },
): Promise<ServingCertificate> {
  if (tlsSecret !== undefined) {
    const { followAuthoritySecret } = await import('../../certificates/authority-secret.ts');
    const [namespace = '', name = ''] = tlsSecret.split('/');
    return await followAuthoritySecret({ ...options, namespace, name, ...(newKeys === undefined ? {} : { newKeys }) });
  }
  const { watchCertificateFiles, CertificateFilesError } = await import('../../certificates/certificate-files.ts');
  try {
    return await watchCertificateFiles({ certFile: tlsCertFile, keyFile: tlsPrivateKeyFile, ...options });
  } catch (error) {
    if (!(error instanceof CertificateFilesError)) throw error;
    throw new CliError(error.message, EXIT_CODE.usage, { cause: error });
  }
}

function toListenError(error: unknown, flags: ServeFlags): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') return error;
  const { securePort, healthPort, metricsPort, bindAddress = 'all addresses' } = flags;
  const ports = `${securePort}, ${healthPort} and ${metricsPort}`;
  return new CliError(`cannot listen on ports ${ports} of ${bindAddress}: ${code}.`, EXIT_CODE.usage);
}

/** The namespace of the pod's service account. Outside of a pod, that of the manifests. */
async function readPodNamespace(): Promise<string> {
  const text = await readFile('/var/run/secrets/kubernetes.io/serviceaccount/namespace', 'utf8').catch(() => '');
  return NAMESPACE.test(text.trim()) ? text.trim() : 'machineconfig-guard';
}

function parseIpAddress(value: string): string {
  if (isIP(value) === 0) throw new InvalidArgumentError('It must be an IPv4 or IPv6 address.');
  return value;
}
