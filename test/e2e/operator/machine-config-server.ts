import { join } from 'node:path';
import { writeFiles } from '../../cli/temporary-directory.ts';
import { testTls } from '../../support/tls.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { isHealthy } from '../control-plane/until.ts';
import { TOKEN_FOLDER } from './operator-binaries.ts';

/** As Ignition of RHCOS asks. */
const ACCEPT = 'application/vnd.coreos.ignition+json;version=3.4.0';
/** The whole config of the machine, for its daemon. */
export const SERVED_FILE = '/etc/mcs-machine-config-content.json';

/** The files that Ignition writes to the disk of a machine, by path. */
export type Files = ReadonlyMap<string, string>;

interface IgnitionConfig {
  readonly storage: {
    readonly files: readonly { readonly path: string; readonly contents: { readonly source?: string } }[];
  };
}

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
  async function fetchFiles(pool: string): Promise<Files | undefined> {
    const response = await fetch(`${url}/config/${pool}`, { headers: { accept: ACCEPT } });
    if (response.status === 500) return undefined;
    if (!response.ok) throw new Error(`the machine-config-server answered ${response.status} for ${pool}`);
    const { storage } = (await response.json()) as IgnitionConfig;
    return new Map(storage.files.map(({ path, contents }) => [path, decode(contents.source)]));
  }

  return {
    fetchFiles,
    /** The name of the config that a machine would get. Undefined for HTTP 500. */
    fetchName: async (pool: string) => {
      const files = await fetchFiles(pool);
      return files && readName(files);
    },
    stop: () => child.stop(),
  };
}

/** The name of the config in {@link SERVED_FILE}. */
export function readName(files: Files): string {
  const { metadata } = JSON.parse(files.get(SERVED_FILE) ?? '') as { metadata: { name: string } };
  return metadata.name;
}

/** Only the files of the server itself are decoded. They are text, and not in Base64. */
function decode(source = ''): string {
  return source.startsWith('data:,') ? decodeURIComponent(source.slice('data:,'.length)) : source;
}
