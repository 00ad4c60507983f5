import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { parseWholeNumber, UsageError } from '../../support/usage.ts';
import { MAX_NODES, NodeCluster } from '../node/node-cluster.ts';
import { listMissingPackages, requireNode } from '../node/requirements.ts';
import { startGuardedCluster } from '../support/guarded-cluster.ts';
import { log, prepareRun, RELEASE_VARIABLE, runCommand } from '../support/runner.ts';
import type { ControlPlane } from './control-plane.ts';
import { selectRelease } from './releases.ts';

const HELP = `Starts a Kubernetes control plane on this machine, with the MachineConfig CRDs of OpenShift, until Ctrl-C.
Without nodes, the guard runs as a process of this machine.

Usage: npm run control-plane [-- --version VERSION]
       npm run node [-- --nodes NUMBER | --missing-packages]

Options:
  --help              this text
  --missing-packages  print the Debian packages that real nodes need and this machine lacks, and exit
  --nodes NUMBER      number of real nodes with the guard's image, at most ${MAX_NODES}, on the default version only
                      (default: 1 with npm run node, else 0)
  --version VERSION   Kubernetes release: 1.37.2, 1.33.0 (OpenShift 4.20, default), 1.31.0 (OpenShift 4.18) or 1.27.4

The binaries are built once, with Go, into \${XDG_CACHE_HOME:-~/.cache}/machineconfig-guard. Nodes need root, cgroup v1
and Debian packages. They run in namespaces of their own. Nothing of them is left afterwards, even after SIGKILL.

Examples:
  npm run control-plane -- --version 1.31.0
  npm run node -- --nodes 2
`;

/** Returns 0 after Ctrl-C. */
async function main() {
  const { values: flags } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      'missing-packages': { type: 'boolean', default: false },
      nodes: { type: 'string', default: '0' },
      version: { type: 'string' },
    },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const nodeCount = parseWholeNumber('nodes', flags.nodes, 0);
  if (nodeCount > MAX_NODES) throw new UsageError(`--nodes ${nodeCount} is more than ${MAX_NODES}.`);
  const release = selectRelease('--version', flags.version);
  if (flags['missing-packages']) {
    process.stdout.write(`${listMissingPackages(release).join(' ')}\n`);
    return 0;
  }
  // Before the builds, which take minutes.
  if (nodeCount > 0) requireNode(release);
  process.env[RELEASE_VARIABLE] = release.kubernetes;
  const binaries = await prepareRun();
  log(`Starting Kubernetes ${release.kubernetes} …`);
  // Until this process waits for a signal, any ends it, and the reaper ends the others.
  const cluster = nodeCount > 0 ? await NodeCluster.start(binaries, nodeCount, log) : await startGuardedCluster();
  try {
    printUsage(cluster.controlPlane, nodeCount);
    await waitForSignal();
  } finally {
    log('Stopping …');
    await cluster.stop();
  }
  return 0;
}

async function waitForSignal() {
  // Nothing else keeps this process alive.
  const keepAlive = setInterval(() => undefined, 1 << 30);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  clearInterval(keepAlive);
}

function printUsage({ binaries, apiServer, directory }: ControlPlane, nodeCount: number) {
  const { release } = binaries;
  const flags = `--image machineconfig-guard:0.1.0${nodeCount === 1 ? ' --single-node' : ''} --hold 0s`;
  const install = `npm run guard -- render --out openshift ${flags}\n  kubectl apply -f openshift`;
  process.stdout.write(`Kubernetes ${release.kubernetes} with the CRDs of OpenShift ${release.openshift} is ready.

  export KUBECONFIG=${apiServer.kubeconfig} PATH=${binaries.directory}:$PATH

Paste this line into another terminal. Then try:
  ${nodeCount > 0 ? `${install}\n  ` : ''}kubectl apply -f docs/examples/worker-in-use.yaml
  kubectl delete machineconfig rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90
  kubectl patch machineconfigguard cluster --type merge --patch '{"spec":{"mode":"Warn"}}'

Logs: ${directory}
Audit log: ${apiServer.auditLog}
Ctrl-C stops it and removes its files.
`);
}

await runCommand('control-plane', main);
