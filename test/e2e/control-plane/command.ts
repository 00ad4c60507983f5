import { once } from 'node:events';
import { parseArgs } from 'node:util';

import { log, runCommand, selectRelease } from '../support/runner.ts';
import { findBinaries } from './binaries.ts';
import { ControlPlane } from './control-plane.ts';

const HELP = `Starts a Kubernetes control plane on this machine, with the MachineConfig CRDs of OpenShift, until Ctrl-C.

Usage: npm run control-plane [-- --version VERSION]

Options:
  --version VERSION  Kubernetes release: 1.37.2, 1.33.0 (OpenShift 4.20, the default), 1.31.0 (OpenShift 4.18) or 1.27.4
  --help             this text

The binaries come from the folder that KUBEBUILDER_ASSETS names when it is set; otherwise they are built once, with Go,
into \${XDG_CACHE_HOME:-~/.cache}/machineconfig-guard.

Example: npm run control-plane -- --version 1.31.0
`;

/** Returns 0 after Ctrl-C. */
async function main() {
  const { values: flags } = parseArgs({
    options: { help: { type: 'boolean', default: false }, version: { type: 'string' } },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const release = await selectRelease('--version', flags.version);
  const binaries = await findBinaries(release, log);
  const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  // Nothing else keeps this process alive.
  const keepAlive = setInterval(() => undefined, 1 << 30);
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
  await interrupted;
  clearInterval(keepAlive);
  log('Stopping …');
  await controlPlane.stop();
  return 0;
}

await runCommand('control-plane', main);
