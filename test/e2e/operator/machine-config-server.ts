import { join } from 'node:path';
import { writeFiles } from '../../cli/temporary-directory.ts';
import { testTls } from '../../support/tls.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { isHealthy } from '../control-plane/until.ts';
import { type IgnitionConfig, readIgnitionFile } from './machines/ignition.ts';
import { TOKEN_FOLDER } from './operator-binaries.ts';

/** The version of the spec for which Ignition of the boot image asks. */
const SPEC_VERSION = '3.4.0';
/** The whole config of the machine, for its daemon. */
export const SERVED_FILE = '/etc/mcs-machine-config-content.json';

export type MachineConfigServer = Awaited<ReturnType<typeof startMachineConfigServer>>;

/**
 * Starts the real machine-config-server of a bootstrap host or of a cluster.
 * @param name of its folder and its log
 * @param args the subcommand and its flags
 */
export async function startMachineConfigServer(
  controlPlane: ControlPlane,
  binaries: string,
  name: string,
  args: readonly string[],
) {
  const directory = join(controlPlane.directory, name);
  const { ca, leaf } = await testTls();
  const { certificatePem, privateKeyPem } = await leaf();
  writeFiles(directory, {
    'tls.crt': certificatePem,
    'tls.key': privateKeyPem,
    [`${TOKEN_FOLDER}/ca.crt`]: ca,
    [`${TOKEN_FOLDER}/token`]: 'token',
  });
  const [port, securePort] = await freePorts(2);
  const flags = ['--cert=tls.crt', '--key=tls.key', `--secure-port=${securePort}`];
  const command = join(binaries, 'machine-config-server');
  const child = controlPlane.startChild(name, command, [...args, ...flags, `--insecure-port=${port}`], {
    cwd: directory,
  });
  const url = `http://127.0.0.1:${port}`;
  await child.waitUntil(() => isHealthy(`${url}/healthz`));

  /** Asks for the config of a machine that boots. Undefined for HTTP 500. */
  async function fetchConfig(pool: string, specVersion = SPEC_VERSION): Promise<IgnitionConfig | undefined> {
    const accept = `application/vnd.coreos.ignition+json;version=${specVersion}`;
    const response = await fetch(`${url}/config/${pool}`, { headers: { accept } });
    if (response.status === 500) return undefined;
    if (!response.ok) throw new Error(`the machine-config-server answered ${response.status} for ${pool}`);
    return (await response.json()) as IgnitionConfig;
  }

  return {
    fetchConfig,
    /** The name of the config that a machine would get. Undefined for HTTP 500. */
    fetchName: async (pool: string) => {
      const config = await fetchConfig(pool);
      return config && (await readName(config));
    },
    stop: () => child.stop(),
  };
}

/** The name of the config in {@link SERVED_FILE}. */
export async function readName(config: IgnitionConfig): Promise<string> {
  const { metadata } = JSON.parse(await readIgnitionFile(config, SERVED_FILE)) as { metadata: { name: string } };
  return metadata.name;
}
