import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { Child } from '../control-plane/child.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { ProcessReaper } from '../control-plane/process-reaper.ts';
import { isHealthy } from '../control-plane/until.ts';
import { debianProgram } from './debian-program.ts';

/** Paths of two programs. */
export interface PrometheusTools {
  readonly prometheus: string;
  readonly promtool: string;
}

export async function findPrometheusTools(): Promise<PrometheusTools> {
  const { file } = await debianProgram('prometheus', ['prometheus']);
  return { prometheus: file, promtool: join(dirname(file), 'promtool') };
}

/** A sample of an instant query. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** A Prometheus process with a configuration of its own. */
export class Prometheus {
  readonly #url: string;
  readonly #child: Child;
  readonly #reaper: ProcessReaper;

  private constructor(url: string, child: Child, reaper: ProcessReaper) {
    this.#url = url;
    this.#child = child;
    this.#reaper = reaper;
  }

  /**
   * Returns when Prometheus is ready.
   *
   * @param files more files in the folder of the configuration, which may refer to them
   */
  static async start(configuration: object, files: Readonly<Record<string, string>>): Promise<Prometheus> {
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
    await child.waitUntil(() => isHealthy(`${url}/-/ready`), 20_000);
    return new Prometheus(url, child, reaper);
  }

  /** @throws Error if Prometheus cannot evaluate the expression */
  async query(expression: string): Promise<readonly Sample[]> {
    const { result } = (await this.read(`query?query=${encodeURIComponent(expression)}`)) as {
      readonly result: readonly Sample[];
    };
    return result;
  }

  /** Reads a resource of the HTTP API, such as `rules` or `alerts`. */
  async read(resource: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${resource}`);
    const body = (await response.json()) as { status: string; error?: string; data: unknown };
    if (body.status !== 'success') throw new Error(body.error ?? `Prometheus answered ${response.status}.`);
    return body.data;
  }

  async stop(): Promise<void> {
    await this.#child.stop('SIGTERM', 5_000);
    await this.#reaper.reap();
  }
}
