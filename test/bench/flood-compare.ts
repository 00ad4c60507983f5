import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { setTimeout as pause } from 'node:timers/promises';
import { reviewBody } from '../support/review.ts';
import { statusOf } from '../e2e/control-plane/kube-client.ts';
import { startGuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { machineConfig, node, renderedName } from '../e2e/support/objects.ts';
import { PATHS } from '../e2e/support/paths.ts';
import { log } from '../e2e/support/runner.ts';
import { imageEnvironment } from '../e2e/support/program.ts';
import { until } from '../e2e/control-plane/until.ts';
import { registerCandidate } from './candidate.ts';

// usage: tsx flood-compare.ts ROUNDS ATTACK CONNECTIONS name=bundle...
const [rounds = '3', attack = 'annotations', connections = '64', ...variants] = process.argv.slice(2);
const PROGRAM = new URL('../e2e/hostile/flood-worker.ts', import.meta.url).href;
const START = `import('tsx/esm/api').then(({ tsImport }) => tsImport('${PROGRAM}', '${PROGRAM}'))`;
const guarded = await startGuardedCluster({ direct: true });
try {
  const { cluster } = guarded;
  await cluster.admin.delete(PATHS.guardWebhook);
  await guarded.guard.stop();
  const candidates = [];
  for (const variant of variants) {
    const [name = '', bundle = ''] = variant.split('=');
    let target = { host: '127.0.0.1', port: 0, ca: '' };
    let command: string[] = [];
    const candidate = await registerCandidate(guarded, name, (folder, port, file) => {
      target.port = port;
      return (command = [
        process.execPath,
        bundle,
        'serve',
        `--kubeconfig=${file}`,
        `--tls-cert-file=${folder}/tls.crt`,
        `--tls-private-key-file=${folder}/tls.key`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        '--health-port=0',
        '--metrics-port=0',
      ]);
    });
    const configuration = (await cluster.admin.find(`${PATHS.webhookConfigurations}/${name}`)) as unknown as {
      webhooks: { clientConfig: { caBundle: string } }[];
    };
    target = {
      ...target,
      ca: Buffer.from(configuration.webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString(),
    };
    await cluster.admin.create(PATHS.nodes, node({ name: `n-${name}`, currentConfig: candidate.used }));
    const uid = String((await cluster.admin.find(`${PATHS.configs}/${candidate.used}`))?.metadata.uid);
    candidates.push({ candidate, command, target, uid, totals: new Map<string, number>() });
  }
  for (const name of ['master', 'worker']) await cluster.pool({ name, spec: renderedName(name) });
  for (let round = 0; round < Number(rounds); round += 1) {
    for (const { candidate, command, target, uid, totals } of candidates) {
      const child = guarded.controlPlane.startChild(candidate.name, command[0] ?? '', command.slice(1), {
        env: { ...process.env, ...imageEnvironment() },
      });
      await until(
        'denial',
        async () => statusOf(await cluster.dryRun(candidate.used)).message?.includes('MCG_IN_USE') === true,
      );
      const forge = (oldUid: string, name: string, annotations = {}) =>
        JSON.stringify(
          reviewBody({
            name,
            oldObject: { ...machineConfig({ name }), metadata: { name, uid: oldUid, annotations } },
            dryRun: true,
          }),
        );
      const entries = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 'v'.repeat(9)]));
      const bodies: Record<string, string> = {
        annotations: forge(randomUUID(), renderedName(), entries),
        uid: forge(randomUUID(), candidate.used),
        used: forge(uid, candidate.used),
        usedAnnotations: forge(uid, candidate.used, entries),
      };
      const body = Buffer.from(bodies[attack] ?? '');
      const bytes = Buffer.concat([
        Buffer.from(
          `POST /validate?timeout=5s HTTP/1.1\r\nHost: guard\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
        ),
        body,
      ]);
      const worker = new Worker(START, {
        eval: true,
        workerData: { target, kind: 'requests', connections: Number(connections), bytes },
      });
      await once(worker, 'message');
      await pause(1_000);
      const answers = Array.from({ length: 12 }, async (_, n) => {
        await pause(300 * n);
        const response = await cluster.dryRun(candidate.used);
        const message = statusOf(response).message ?? '';
        return `${response.status} ${/MCG_[A-Z_]+(?=:)/.exec(message)?.[0] ?? message.slice(0, 60)} ${/\(([a-z ]+: [^)]*)\)/.exec(message)?.[1]?.slice(0, 50) ?? ''}`;
      });
      const counts = new Map<string, number>();
      for (const answer of await Promise.all(answers)) {
        counts.set(answer, (counts.get(answer) ?? 0) + 1);
        totals.set(answer, (totals.get(answer) ?? 0) + 1);
      }
      await worker.terminate();
      log(`${round} ${candidate.name}: ${JSON.stringify(Object.fromEntries(counts))}`);
      await child.stop('SIGKILL');
      await pause(500);
    }
  }
  for (const { candidate, totals } of candidates)
    log(`TOTAL ${candidate.name}: ${JSON.stringify(Object.fromEntries(totals))}`);
} finally {
  await guarded.stop();
}
