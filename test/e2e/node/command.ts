import { once } from 'node:events';
import { parseArgs } from 'node:util';

import { UsageError } from '../../support/usage.ts';
import { findBinaries } from '../control-plane/binaries.ts';
import { log, runCommand, selectRelease } from '../support/runner.ts';
import { MAX_NODES } from './node-network.ts';
import { startNodeCluster } from './prepare.ts';
import { listMissingPackages, requireNode } from './requirements.ts';

const HELP = `Starts a Kubernetes cluster with real nodes on this machine until Ctrl-C: a control plane with the
MachineConfig CRDs of OpenShift, and for each node containerd, kubelet and kube-proxy. Imports the guard's image, which
it builds from the Containerfile.

Usage: npm run node [-- --nodes NUMBER | --missing-packages]

Options:
  --missing-packages  print the Debian packages that are missing, and exit
  --nodes NUMBER      number of nodes, 1 to ${MAX_NODES} (default: 1)
  --help              this text

It needs root, cgroup v1, Go for the first run, and Debian packages, which it names if they are missing. The nodes run
in namespaces of their own. Nothing of them is left afterwards, even after SIGKILL.

Example: npm run node -- --nodes 2
`;

/** Returns 0 after Ctrl-C. */
async function main() {
  const { values: flags } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      'missing-packages': { type: 'boolean', default: false },
      nodes: { type: 'string', default: '1' },
    },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const count = Number(flags.nodes);
  if (!Number.isInteger(count) || count < 1 || count > MAX_NODES) {
    throw new UsageError(`--nodes ${flags.nodes} is not a number from 1 to ${MAX_NODES}.`);
  }
  const release = await selectRelease('--kubernetes', undefined);
  if (flags['missing-packages']) {
    process.stdout.write(`${listMissingPackages(release).join(' ')}\n`);
    return 0;
  }
  // Before the builds, which take minutes.
  requireNode(release);
  const binaries = await findBinaries(release, log);
  // A signal before this line ends the process at once, which also leaves nothing behind.
  const cluster = await startNodeCluster(binaries, count, log);
  const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  // Nothing else keeps this process alive.
  const keepAlive = setInterval(() => undefined, 1 << 30);
  const { kubeconfig } = cluster.controlPlane.apiServer;
  process.stdout.write(`Kubernetes ${release.kubernetes} with ${count} node${count === 1 ? '' : 's'} is ready.

  export KUBECONFIG=${kubeconfig}

Try in another terminal:
  npm run guard -- render --out openshift --image machineconfig-guard:0.1.0${count === 1 ? ' --single-node' : ''}
  ${binaries.kubectl} apply -f openshift
  ${binaries.kubectl} get pods --all-namespaces

Logs: ${cluster.controlPlane.directory}
Ctrl-C stops it and removes its files.
`);
  await interrupted;
  clearInterval(keepAlive);
  log('Stopping …');
  await cluster.stop();
  return 0;
}

await runCommand('node', main);
