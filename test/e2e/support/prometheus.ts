import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { Child } from '../control-plane/child.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { ProcessReaper } from '../control-plane/process-reaper.ts';
import { isHealthy } from '../control-plane/until.ts';
import { debianProgram } from './debian-program.ts';

/** Finds two programs. */
export async function findPrometheusTools() {
  const { file } = await debianProgram('prometheus', ['prometheus']);
  return { prometheus: file, promtool: join(dirname(file), 'promtool') };
}

/** A sample of an instant query. */
interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/**
 * Starts a Prometheus with a configuration of its own, and returns when it is ready.
 *
 * @param files more files in the folder of the configuration, which may refer to them
 */
export async function startPrometheus(configuration: object, files: Readonly<Record<string, string>>) {
  const { prometheus: command } = await findPrometheusTools();
  const directory = await mkdtemp(join(tmpdir(), 'mcg-prometheus-'));
  const [port] = await freePorts(1);
  const entries = Object.entries({ ...files, 'prometheus.yml': JSON.stringify(configuration) });
  await Promise.all(entries.map(([name, text]) => writeFile(join(directory, name), text, { mode: 0o600 })));
  const reaper = new ProcessReaper(directory);
  const args = [
    `--config.file=${join(directory, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = new Child({ command, args, logFile: join(directory, 'prometheus.log'), reaper });
  const url = `http://127.0.0.1:${port}`;
  await child.waitUntil(() => isHealthy(`${url}/-/ready`));

  /** Reads a resource of the HTTP API, such as `rules`. */
  async function read(resource: string): Promise<unknown> {
    const response = await fetch(`${url}/api/v1/${resource}`);
    const body = (await response.json()) as { status: string; error?: string; data: unknown };
    if (body.status !== 'success') throw new Error(body.error ?? `Prometheus answered ${response.status}.`);
    return body.data;
  }

  /** @throws Error if Prometheus cannot evaluate the expression */
  async function query(expression: string): Promise<readonly Sample[]> {
    return ((await read(`query?query=${encodeURIComponent(expression)}`)) as { result: readonly Sample[] }).result;
  }

  return { query, read, stop: () => reaper.reap() };
}
