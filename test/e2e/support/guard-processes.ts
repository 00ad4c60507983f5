import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { encodeBase64 } from '../../../src/install/manifest.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import type { KubeClient } from '../control-plane/kube-client.ts';
import { isHealthy, until } from '../control-plane/until.ts';
import { PATHS } from './objects.ts';
import { imageEnvironment, PROGRAM } from './programs.ts';
import { serviceAccountToken } from './service-account.ts';

const NAME = 'machineconfig-guard';
const ENDPOINTS = `${PATHS.guardNamespace}/endpoints`;
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/machineconfig-guard/endpointslices';
const SERVICE_LABEL = 'kubernetes.io/service-name';
/** Where the overlays of OpenShift's service CA mount the Secret. */
const MOUNT_PATH = '/etc/machineconfig-guard/tls';
const SECRET = `${PATHS.guardNamespace}/secrets/machineconfig-guard-tls`;

/** A replica of the guard as a process of this machine, with the environment of its image. */
export type GuardProcess = Awaited<ReturnType<typeof startGuardProcess>>;

/**
 * Starts the bundled guard, and returns when it is ready.
 * @param name of its kubeconfig and its log
 * @param args of the guard, without its ports and its kubeconfig
 * @param tls the folder with tls.crt and tls.key, and the PEM of the authority that issued the certificate
 */
async function startGuardProcess(
  controlPlane: ControlPlane,
  name: string,
  args: readonly string[],
  tls: { readonly certDir: string; readonly ca: string },
) {
  const [securePort = 0, healthPort = 0, metricsPort = 0] = await freePorts(3);
  // The last flag counts. The replicas share the addresses of this machine.
  const ports = [`--secure-port=${securePort}`, `--health-port=${healthPort}`, `--metrics-port=${metricsPort}`];
  const serve = [PROGRAM, ...args, ...ports, '--shutdown-delay-duration=0s'];
  const env = { PATH: process.env['PATH'], ...imageEnvironment() };
  const healthUrl = `http://127.0.0.1:${healthPort}`;
  const start = async () => {
    const started = controlPlane.startChild(name, process.execPath, serve, { env });
    await started.waitUntil(() => isHealthy(`${healthUrl}/readyz`));
    return started;
  };
  let child = await start();
  return {
    ...tls,
    /** File with the output of the process. */
    log: `${controlPlane.directory}/${name}.log`,
    ports: { securePort, metricsPort },
    url: `https://127.0.0.1:${securePort}/validate`,
    healthUrl,
    metricsUrl: `https://127.0.0.1:${metricsPort}`,
    get isRunning() {
      return child.isRunning;
    },
    /** The number of the current or last process. */
    get pid() {
      return child.pid;
    },
    stop: (signal?: NodeJS.Signals) => child.stop(signal),
    /** Kills the process and starts another one at the same ports, until it is ready. */
    restart: async () => {
      await child.stop('SIGKILL');
      child = await start();
    },
  };
}

interface DeploymentSpec {
  readonly replicas: number;
  readonly template: {
    readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] };
  };
}

/**
 * The replicas of the Deployment as processes of this machine, behind the guard's Service. They need no root and run
 * with every release, so they serve the tests of decisions. Tests of pods, rollouts and volumes need real nodes.
 */
export class GuardProcesses {
  readonly #controlPlane: ControlPlane;
  readonly #admin: KubeClient;
  readonly #apiUrls: readonly string[];
  readonly #replicas: GuardProcess[] = [];
  #startCount = 0;

  /** @param apiUrls the addresses at which the guards reach the API servers: the first guard at the first address */
  constructor(controlPlane: ControlPlane, apiUrls: readonly string[] = [controlPlane.apiServer.url]) {
    this.#controlPlane = controlPlane;
    this.#admin = controlPlane.apiServer.admin;
    this.#apiUrls = apiUrls;
  }

  get running(): readonly GuardProcess[] {
    return this.#replicas;
  }

  async awaitRollout() {
    const { spec } = await until('the Deployment', () => this.#admin.find(PATHS.deployment));
    const { replicas, template } = spec as DeploymentSpec;
    const missing = replicas - this.#replicas.length;
    if (missing === 0) return;
    const directory = join(this.#controlPlane.directory, 'guards');
    await mkdir(directory, { recursive: true });
    const args = template.spec.containers[0]?.args ?? [];
    if (args.some((arg) => arg.includes(MOUNT_PATH))) {
      const { data = {} } = await until('the Secret', () => this.#admin.find(SECRET));
      for (const [file, content] of Object.entries(data)) await writeFile(join(directory, file), content, 'base64');
    }
    const findAuthority = async () => (await readAuthority(this.#admin)) || undefined;
    const ca = await until('the authority of the webhook', findAuthority);
    const start = () => this.#startReplica(args, directory, ca);
    this.#replicas.push(...(await Promise.all(Array.from({ length: missing }, start))));
    await this.#publish();
  }

  async readLogs() {
    return Promise.all(this.#replicas.map(({ log }) => readFile(log, 'utf8')));
  }

  async stop() {
    await Promise.all(this.#replicas.map((replica) => replica.stop()));
  }

  async #startReplica(args: readonly string[], certDir: string, ca: string): Promise<GuardProcess> {
    // Each replica gets a token of its own, as a pod does.
    const token = await serviceAccountToken(this.#admin, NAME, NAME);
    const apiUrl = this.#apiUrls[this.#startCount % this.#apiUrls.length];
    // Its files are beside the folder of the certificate: the guard watches that one, and each line would wake it.
    const name = `guard-${(this.#startCount += 1)}`;
    const kubeconfig = await this.#controlPlane.writeKubeconfig(name, { token }, apiUrl);
    const ownArgs = [...args.map((arg) => arg.replace(MOUNT_PATH, certDir)), `--kubeconfig=${kubeconfig}`];
    return startGuardProcess(this.#controlPlane, name, ownArgs, { certDir, ca });
  }

  /**
   * Replaces the Endpoints object. It has a subset for each replica, because their ports differ. From Kubernetes 1.34
   * on, API servers read slices instead.
   */
  async #publish() {
    const ip = findOwnAddress();
    const subsets = this.#replicas.map(({ ports: { securePort, metricsPort } }) => {
      const ports = [
        { name: 'webhook', port: securePort },
        { name: 'metrics', port: metricsPort },
      ];
      return { addresses: [{ ip }], ports };
    });
    const endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: NAME }, subsets };
    await this.#admin.delete(`${ENDPOINTS}/${NAME}`);
    await this.#admin.create(ENDPOINTS, endpoints);
    await this.#admin.delete(SLICES, { labelSelector: `${SERVICE_LABEL}=${NAME}` });
    for (const [index, { ports }] of subsets.entries()) {
      await this.#admin.create(SLICES, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: `${NAME}-${index}`, labels: { [SERVICE_LABEL]: NAME } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [ip], conditions: { ready: true } }],
        ports,
      });
    }
    const readyReplicas = this.#replicas.length;
    await this.#admin.patch(`${PATHS.deployment}/status`, { status: { replicas: readyReplicas, readyReplicas } });
  }
}

/** An address of this machine. The API server rejects endpoints at 127.0.0.1. */
function findOwnAddress() {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const own = addresses.find(
    ({ family, internal, address }) => family === 'IPv4' && !internal && !address.startsWith('169.254.'),
  );
  if (own !== undefined) return own.address;
  throw new Error('This machine needs an IPv4 address other than 127.0.0.1.');
}

/** The lines of a log that are complete JSON objects. Lines may lack fields of this type. */
export function parseJsonLines<Line>(log: string): Line[] {
  const objects = log.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
  return objects.map((line) => JSON.parse(line) as Line);
}

/** The name of the guard's Service in its certificates. */
export const SERVICE_NAME = 'machineconfig-guard.machineconfig-guard.svc';

/** PEM of the authority by which the API server checks the guard's certificates. */
export async function readAuthority(admin: KubeClient): Promise<string> {
  const configuration = await admin.find(PATHS.guardWebhook);
  return Buffer.from(configuration?.webhooks?.[0]?.clientConfig.caBundle ?? '', 'base64').toString();
}

export async function setAuthority(admin: KubeClient, pem: string): Promise<void> {
  const path = '/webhooks/0/clientConfig/caBundle';
  await admin.patch(PATHS.guardWebhook, [{ op: 'add', path, value: encodeBase64(pem) }]);
}

/**
 * Makes the API server open new connections to the guard, by another caBundle. The service CA restores the usual one.
 * @param label makes the caBundle differ
 */
export async function forceReconnect({ apiServer }: ControlPlane, { ca }: { readonly ca: string }, label: string) {
  await setAuthority(apiServer.admin, `# ${label}\n${ca}`);
}
