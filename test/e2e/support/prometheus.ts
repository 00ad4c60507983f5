import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { Child } from '../control-plane/child.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { Leash } from '../control-plane/leash.ts';
import { debianProgram } from './debian-program.ts';

/** Files of the two programs. */
export interface PrometheusTools {
  readonly prometheus: string;
  readonly promtool: string;
}

/** From the path, else out of Debian's package. */
export async function prometheusTools(): Promise<PrometheusTools> {
  const { file } = await debianProgram('prometheus', ['prometheus']);
  return { prometheus: file, promtool: join(dirname(file), 'promtool') };
}

/** A sample of an instant query. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** A Prometheus of its own, which scrapes what its configuration says until it is stopped. */
export class Prometheus {
  readonly #url: string;
  readonly #child: Child;
  readonly #leash: Leash;
  readonly #directory: string;

  private constructor(url: string, child: Child, leash: Leash, directory: string) {
    this.#url = url;
    this.#child = child;
    this.#leash = leash;
    this.#directory = directory;
  }

  /** `files` are written beside its configuration, which may name them. Returns once it answers. */
  static async start(
    { prometheus }: PrometheusTools,
    configuration: object,
    files: Readonly<Record<string, string>>,
  ): Promise<Prometheus> {
    const directory = await mkdtemp(join(tmpdir(), 'mcg-prometheus-'));
    const [port] = await freePorts(1);
    const all = { ...files, 'prometheus.yml': JSON.stringify(configuration) };
    await Promise.all(
      Object.entries(all).map(([name, text]) => writeFile(join(directory, name), text, { mode: 0o600 })),
    );
    const leash = new Leash(directory);
    const args = [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    const logFile = join(directory, 'prometheus.log');
    const child = new Child({ command: prometheus, args, logFile, leash });
    const started = new Prometheus(`http://127.0.0.1:${port}`, child, leash, directory);
    await child.until(async () => (await fetch(`${started.#url}/-/ready`).catch(() => undefined))?.ok === true, 20_000);
    return started;
  }

  /** The samples of an expression, now. Throws where it cannot be evaluated. */
  async query(expression: string): Promise<readonly Sample[]> {
    const answer = (await this.#get(`query?query=${encodeURIComponent(expression)}`)) as { result: readonly Sample[] };
    return answer.result;
  }

  /** Everything that an address of its API says, such as `rules` or `targets`. */
  async read(address: string): Promise<unknown> {
    return await this.#get(address);
  }

  async stop(): Promise<void> {
    await this.#child.stop('SIGTERM', 5_000);
    await this.#leash.end();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #get(address: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${address}`);
    const body = (await response.json()) as { status: string; error?: string; data: unknown };
    if (body.status !== 'success') throw new Error(body.error ?? `Prometheus answered ${response.status}.`);
    return body.data;
  }
}
