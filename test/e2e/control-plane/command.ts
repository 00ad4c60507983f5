import { parseArgs } from 'node:util';

import { availableReleases, findBinaries, NoControlPlane } from './binaries.ts';
import { ControlPlane } from './control-plane.ts';

const HELP = `Starts a Kubernetes control plane on this machine, with the MachineConfig CRDs of OpenShift, until Ctrl-C.

Usage: npm run control-plane [-- --version VERSION]

Options:
  --version VERSION  Kubernetes release: 1.33.0 (OpenShift 4.20, the default) or 1.31.0 (OpenShift 4.18)
  --help             this text

The binaries come from the folder that KUBEBUILDER_ASSETS names when it is set; otherwise they are built once, with Go,
into \${XDG_CACHE_HOME:-~/.cache}/machineconfig-guard.

Example: npm run control-plane -- --version 1.31.0
`;

/** The exit code: 0 after Ctrl-C, 1 where there is no control plane to be had, 2 on wrong usage. */
async function main(args: readonly string[]): Promise<number> {
  const flags = readFlags(args);
  if (typeof flags === 'string') {
    process.stderr.write(`${flags} See: npm run control-plane -- --help\n`);
    return 2;
  }
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const releases = await availableReleases();
  const release = flags.version === undefined ? releases[0] : releases.find((one) => one.kubernetes === flags.version);
  if (release === undefined) {
    const known = releases.map((one) => one.kubernetes).join(' or ');
    process.stderr.write(`--version ${flags.version} is not available here: it can be ${known}.\n`);
    return 2;
  }

  const binaries = await findBinaries(release, log);
  const stopped = signalled();
  log(`Starting Kubernetes ${release.kubernetes} …`);
  const controlPlane = await ControlPlane.start(binaries);
  process.stdout.write(`Kubernetes ${release.kubernetes} with the CRDs of OpenShift ${release.openshift} is ready.

  export KUBECONFIG=${controlPlane.apiServer.kubeconfig}

Try in another terminal:
  ${binaries.directory}/kubectl get machineconfigpools,machineconfigs
  npm run guard -- dev

Audit log: ${controlPlane.apiServer.auditLog}
Ctrl-C stops it and removes its files.
`);
  await stopped;
  log('Stopping …');
  await controlPlane.stop();
  return 0;
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

function readFlags(args: readonly string[]): { help: boolean; version: string | undefined } | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { help: { type: 'boolean', default: false }, version: { type: 'string' } },
    });
    return { help: values.help, version: values.version };
  } catch (error) {
    // The parser's own sentence; what follows it is advice on escaping that is of no use here.
    return `${(error as Error).message.split('. ')[0]?.replace(/\.$/, '')}.`;
  }
}

/** Keeps the process alive until SIGINT or SIGTERM. */
function signalled(): Promise<void> {
  const alive = setInterval(() => undefined, 1 << 30);
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        clearInterval(alive);
        resolve();
      });
    }
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof NoControlPlane)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
