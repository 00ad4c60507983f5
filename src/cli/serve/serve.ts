import { once } from 'node:events';
import { isIP } from 'node:net';
import { Command, Option } from 'commander';
import type { Logger } from 'pino';
import { CertificateFilesError } from '../../certificates/certificate-files.ts';
import type { ServingCertificate } from '../../certificates/key-pair.ts';
import { type Mode, MODES } from '../../api/settings.ts';
import type { KubeApi } from '../../kube/api.ts';
import { addConnectionFlags, type ClusterFlags, createKubeApi } from '../../client/cluster-options.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { shell } from '../../diagnosis/shell-command.ts';
import { advise } from '../../client/output/advice.ts';
import { createParser, parseHold, parsePort, toDurationOption } from '../../client/option-parsers.ts';
import { withStopSignal } from '../../client/signals.ts';
import { createJsonLog, LOG_LEVELS } from './json-log.ts';
import { ListenError } from '../../serving/tls-server.ts';

const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const parseIpAddress = createParser({ test: (value) => isIP(value) !== 0 }, 'Must be an IPv4 or IPv6 address.');
const parseNamespace = createParser(NAMESPACE, 'Must be a namespace, such as machineconfig-guard.');

interface ServeFlags extends ClusterFlags {
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsSecret?: string;
  readonly bindAddress?: string;
  readonly securePort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
  readonly shutdownDelayDuration: number;
  readonly namespace?: string;
  readonly initialMode?: Mode;
  readonly initialHold?: string;
  readonly logLevel: string;
}

const SECRET_NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\/[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/;
const parseSecretName = createParser(
  SECRET_NAME,
  'Must be NAMESPACE/NAME, such as machineconfig-guard/machineconfig-guard-ca.',
);

const FILES_ADVICE = advise('create the files with', shell`machineconfig-guard certs`);
const PORT_ADVICE = advise('choose another port, or stop the program that uses it');

/** Creates the command `serve`. It ends when a signal has stopped the guard. */
export function createServeCommand(): Command {
  const command = new Command('serve')
    .description('Run the admission webhook, which denies the deletion of rendered MachineConfigs in use.')
    .option('--tls-cert-file <file>', 'serving certificate, PEM; reloaded when the file changes')
    .option('--tls-private-key-file <file>', 'private key of the serving certificate, PEM')
    .addOption(
      new Option(
        '--tls-secret <namespace/name>',
        'Secret with the ca.crt and ca.key that sign the serving certificate, instead of the two files',
      )
        .argParser(parseSecretName)
        .conflicts(['tlsCertFile', 'tlsPrivateKeyFile']),
    )
    .option('--bind-address <ip>', 'listen address (default: all IPv4 and IPv6 addresses)', parseIpAddress)
    .option('--secure-port <port>', 'HTTPS port of the webhook; 0 picks a free port', parsePort, 9443)
    .option('--health-port <port>', 'HTTP port of /healthz and /readyz; 0 picks a free port', parsePort, 8081)
    .option(
      '--metrics-port <port>',
      'HTTPS port of /metrics; clients need "get" on /metrics; 0 picks a free port',
      parsePort,
      8443,
    )
    .addOption(
      toDurationOption(
        new Option('--shutdown-delay-duration <duration>', 'time to keep serving after SIGTERM, while not ready'),
        '5s',
      ),
    )
    .option(
      '--namespace <name>',
      'namespace of the Lease for leader election (default: namespace of the pod)',
      parseNamespace,
    )
    // An object in the manifests would have to be applied after its CRD, and would reset the mode at an upgrade.
    .addOption(
      new Option(
        '--initial-mode <mode>',
        'mode of the MachineConfigGuard if the guard creates it (default: Enforce)',
      ).choices(MODES),
    )
    .option(
      '--initial-hold <duration>',
      'holdSuperseded of the MachineConfigGuard if the guard creates it (default: 2h)',
      parseHold,
    )
    .addOption(new Option('--log-level <level>', 'minimum log level').choices(LOG_LEVELS).default('info'))
    .addHelpText(
      'after',
      `
Logs {"msg":"ready",...} with its ports when it is ready. On SIGTERM it becomes
not ready, finishes open requests and exits 0.
Follows the tlsSecurityProfile of apiservers.config.openshift.io/cluster
without a restart. Without it, OpenShift's Intermediate profile applies.
Permissions: the ClusterRole and the Role of manifests/base.
Exit codes: 0 stopped with SIGTERM, 1 unexpected error, 2 wrong usage, an
unusable certificate file or a port in use, 3 no usable kubeconfig, 130 stopped
with Ctrl-C.

Example:
  machineconfig-guard serve --kubeconfig ~/.kube/config \\
    --tls-cert-file certs/tls.crt --tls-private-key-file certs/tls.key`,
    )
    .action((flags: ServeFlags) => withStopSignal((signal) => serve(flags, once(signal, 'abort'))));
  return addConnectionFlags(command);
}

async function serve(flags: ServeFlags, stopped: Promise<unknown>): Promise<void> {
  const { tlsCertFile, tlsPrivateKeyFile, tlsSecret } = flags;
  if (tlsSecret === undefined && (tlsCertFile === undefined || tlsPrivateKeyFile === undefined)) {
    throw new CliError('serve needs --tls-secret, or --tls-cert-file and --tls-private-key-file', EXIT_CODE.usage, {
      advice: FILES_ADVICE,
    });
  }
  const log = createJsonLog(flags.logLevel);
  const api = await createKubeApi(flags, 'machineconfig-guard');
  const { runGuard } = await import('../../guard/guard.ts');
  void stopped.then(() => log.info('stopping'));
  try {
    const options = {
      ...flags,
      api,
      log,
      loadCertificate: (signal: AbortSignal) => loadCertificate(flags, { api, log, signal }),
      initialSpec: { mode: flags.initialMode, holdSuperseded: flags.initialHold },
      leaseNamespace: flags.namespace,
      shutdownDelayMs: flags.shutdownDelayDuration,
    };
    await runGuard(options, stopped);
  } catch (error) {
    throw toServeError(error);
  }
  api.close();
  log.info('stopped');
}

async function loadCertificate(
  { tlsSecret, tlsCertFile = '', tlsPrivateKeyFile = '' }: ServeFlags,
  options: { readonly api: KubeApi; readonly log: Logger; readonly signal: AbortSignal },
): Promise<ServingCertificate> {
  if (tlsSecret !== undefined) {
    const { followAuthoritySecret } = await import('../../certificates/authority-secret.ts');
    const [namespace = '', name = ''] = tlsSecret.split('/');
    return await followAuthoritySecret({ ...options, namespace, name });
  }
  const { watchCertificateFiles } = await import('../../certificates/certificate-files.ts');
  return await watchCertificateFiles({ certFile: tlsCertFile, keyFile: tlsPrivateKeyFile, ...options });
}

/** Returns the error that the command ends with: wrong usage if a flag is the cause, or else the error itself. */
export function toServeError(error: unknown): unknown {
  const isOfFiles = error instanceof CertificateFilesError;
  if (!isOfFiles && !(error instanceof ListenError)) return error;
  const advice = isOfFiles ? FILES_ADVICE : PORT_ADVICE;
  return new CliError(error.message.replace(/\.$/, ''), EXIT_CODE.usage, { advice, cause: error });
}
