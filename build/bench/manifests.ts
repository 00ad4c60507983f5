import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { stringify } from 'yaml';
import { bundle } from '../bundle.ts';

/** Files of a directory, and how long `check manifests` may take for them, in seconds. */
const SIZES = [
  { files: 500, limit: 2 },
  { files: 2_500, limit: 7 },
];
const ROUNDS = 3;
const ROLE = 'machineconfiguration.openshift.io/role';

function createManifest(index: number): object {
  const role = index % 2 === 0 ? 'master' : 'worker';
  if (index % 5 === 4) {
    const metadata = { name: `settings-${index}`, namespace: 'openshift-config' };
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { settings: 'a line of text\n'.repeat(20) } };
  }
  const files = [0, 1, 2].map((number) => {
    const text = Buffer.from(`file ${number} of ${index}`).toString('base64');
    const source = `data:text/plain;charset=utf-8;base64,${text}`;
    return { path: `/etc/lab/${index}-${number}.conf`, mode: 420, overwrite: true, contents: { source } };
  });
  const contents =
    '[Unit]\nDescription=a\n[Service]\nExecStart=/usr/local/bin/a\n[Install]\nWantedBy=multi-user.target\n';
  const systemd = { units: [{ name: `lab-${index}.service`, enabled: true, contents }] };
  return {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: { name: `99-${role}-${index}`, labels: { [ROLE]: role } },
    spec: { config: { ignition: { version: '3.4.0' }, storage: { files }, systemd } },
  };
}

/** Prints the fastest of some runs for each size. Exits with 1 if one is too slow, or is not fine. */
const directory = mkdtempSync(path.join(tmpdir(), 'mcg-bench-'));
try {
  const program = path.join(directory, 'machineconfig-guard.cjs');
  await bundle(program);
  for (const { files, limit } of SIZES) {
    const manifests = path.join(directory, String(files), 'openshift');
    mkdirSync(manifests, { recursive: true });
    for (let index = 0; index < files; index += 1) {
      const name = `${String(index).padStart(4, '0')}.yaml`;
      writeFileSync(path.join(manifests, name), stringify(createManifest(index)));
    }
    const runs = Array.from({ length: ROUNDS }, () => {
      const startedAt = performance.now();
      const { status } = spawnSync(process.execPath, [program, 'check', 'manifests', path.dirname(manifests)]);
      return status === 0 ? (performance.now() - startedAt) / 1_000 : Number.POSITIVE_INFINITY;
    });
    const fastest = Math.min(...runs);
    console.log(`${files} files: ${fastest.toFixed(1)} s (at most ${limit} s)`);
    if (fastest > limit) process.exitCode = 1;
  }
} finally {
  rmSync(directory, { recursive: true });
}
