import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeApi } from '../../../../src/kube/api.ts';
import { expectStatus, type KubeClient, type KubeObject } from '../../control-plane/kube-client.ts';
import { hasCondition, type Pool } from '../../support/cluster.ts';
import { kubectlOk } from '../../support/kubectl.ts';
import { MCO, PATHS } from '../../support/objects.ts';
import type { OperatorCluster } from '../operator-cluster.ts';
import type { Machine } from './machine.ts';
import { type NodeReport, NodeTimeline } from './node-timeline.ts';

/** Configs of a pool. X is the one that its machine boots. */
export type Letter = 'X' | 'Y';
/** What the first boot of a machine changes besides its files. */
export type FirstBoot = 'image' | 'kernel arguments' | 'nothing';

/** What a node must report. Letters stand for the names of configs, NODE for its own name, and POOL for its pool. */
export interface Row extends NodeReport {
  /** Whether it can be missing, because another component can be faster. */
  readonly isOptional?: boolean;
}

interface LabOptions {
  /** Of the pool. The name of its machine begins with it. */
  readonly pool: string;
  readonly firstBoot?: FirstBoot | undefined;
  /** Whether X exists only on the disk of the machine. The pool has Y then, and is paused. */
  readonly isXMissing?: boolean | undefined;
  /** Its program, if not the one with short waits. */
  readonly daemon?: string | undefined;
}

const KERNEL_ARGUMENT = 'mcg-lab=1';
const OLD_IMAGE = `quay.io/lab/os@sha256:${'0'.repeat(64)}`;
/** The daemon logs it whenever it writes a reason. */
const FAILURE = 'Marking Degraded due to';
const HASH_LENGTH = 32;
const NAMESPACE = 'default';
const PODS = `${PATHS.namespaces}/${NAMESPACE}/pods`;
const BUDGETS = `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets`;

/**
 * After an update, a daemon can see its node once more as it was before the report Done. Then it reports Working, and
 * Done again.
 */
function isRepeatedUpdate(before: NodeReport | undefined, seen: NodeReport): boolean {
  const states = [before?.state, seen.state].join(' ');
  const isSameConfig = new Set([before?.current, before?.desired, seen.current, seen.desired]).size === 1;
  return isSameConfig && (states === 'Done Working' || states === 'Working Done');
}

/** The files that only one of two configs has, and the one that both have. */
export const FILES = { both: '/etc/lab-both', onlyX: '/etc/lab-only-x', onlyY: '/etc/lab-only-y' } as const;

/** A pool of its own with one machine, and what people and other components do to it. */
export class Lab {
  readonly pool: string;
  readonly #operator: OperatorCluster;
  readonly #admin: KubeClient;
  readonly #timeline: NodeTimeline;
  readonly #nameByLetter = new Map<Letter, string>();
  readonly #deleted = new Map<Letter, KubeObject>();
  #machine: Machine | undefined;
  /** How many reports of the node were expected and have come. */
  #cursor = 0;

  private constructor(operator: OperatorCluster, api: KubeApi, pool: string) {
    this.pool = pool;
    this.#operator = operator;
    this.#admin = operator.admin;
    this.#timeline = new NodeTimeline(api, this.node);
  }

  /** Creates the pool, and boots its machine. */
  static async start(operator: OperatorCluster, api: KubeApi, options: LabOptions): Promise<Lab> {
    const { pool, firstBoot = 'kernel arguments', isXMissing = false, daemon } = options;
    const lab = new Lab(operator, api, pool);
    await lab.#changeSource('X');
    await operator.installed.cluster.pool({ name: pool });
    // The operator can see the pool before the source, and then it renders twice.
    await operator.awaitPool(pool, 'rendered from its source', ({ spec }) =>
      JSON.stringify(spec).includes(`50-${pool}`),
    );
    lab.#nameByLetter.set('X', await operator.awaitUpdated(pool));
    const config = await operator.until(`the config of ${pool}`, () => operator.server.fetchConfig(pool));
    const { kernelArguments } = (await lab.#getConfig('X')).spec as { readonly kernelArguments: readonly string[] };
    if (isXMissing) {
      await lab.render('Y');
      await operator.awaitUpdated(pool, 0);
      await lab.pause();
      await lab.deleteConfig('X');
    }
    lab.#machine = await operator.boot(lab.node, ['worker', pool], {
      config,
      ...(firstBoot === 'image' && { image: OLD_IMAGE }),
      ...(firstBoot === 'nothing' && { kernelArguments }),
      ...(daemon !== undefined && { daemon }),
    });
    return lab;
  }

  /** The name of the machine and its node. */
  get node(): string {
    return `${this.pool}-0`;
  }

  get machine(): Machine {
    if (this.#machine === undefined) throw new Error(`pool ${this.pool} has no machine yet`);
    return this.#machine;
  }

  async stop(): Promise<void> {
    await this.#timeline.stop();
    await this.#machine?.remove();
  }

  /** Replaces the names of the configs, the node and the pool by their letters and NODE and POOL. */
  toLetters(text: string): string {
    const configs = [...this.#nameByLetter].flatMap(([letter, name]) => {
      // A misspelled name has the hash of the config.
      return [[name, letter] as const, [name.slice(-HASH_LENGTH), letter] as const];
    });
    const all = [...configs, [this.node, 'NODE'] as const, [this.pool, 'POOL'] as const];
    return all.reduce((result, [name, short]) => result.replaceAll(name, short), text);
  }

  /**
   * Waits until the node has reported these rows, in their order and nothing in between. Returns the seconds since
   * `startedAt` at which the last one came.
   * @throws Error with all reports if the node reports another one
   */
  async awaitRows(rows: readonly Row[], startedAt: number): Promise<number> {
    let lastAt = startedAt;
    const left = [...rows];
    while (left.some(({ isOptional }) => isOptional !== true)) {
      const what = () => `${this.#formatRow(left[0] as Row)}\n${this.formatTimeline()}`;
      const [before, seen] = await this.#timeline.awaitReport(this.#cursor, what);
      const index = left.findIndex((row) => this.#formatRow(row) === this.#formatRow(seen));
      const isNext = index >= 0 && left.slice(0, index).every(({ isOptional }) => isOptional === true);
      if (!isNext && !isRepeatedUpdate(before, seen)) throw new Error(`another report than ${what()}`);
      left.splice(0, index + 1);
      lastAt = seen.at;
      this.#cursor += 1;
    }
    return (lastAt - startedAt) / 1_000;
  }

  /** All reports of the node, one a line, with the seconds since the first one. */
  formatTimeline(): string {
    const { all } = this.#timeline;
    const [first] = all;
    return all
      .map((seen) => `${((seen.at - (first?.at ?? 0)) / 1_000).toFixed(1).padStart(6)} ${this.#formatRow(seen)}`)
      .join('\n');
  }

  /** Waits until the daemon has failed that often again. */
  async awaitFailures(count: number): Promise<void> {
    const countFailures = async () => (await this.#readLog()).split(FAILURE).length;
    const before = await countFailures();
    await this.#operator.until(
      `${count} failures of ${this.node}`,
      async () => (await countFailures()) >= before + count,
    );
  }

  /** Changes the file that X and Y have, once the daemon watches it. */
  async changeFile(): Promise<void> {
    const isWatched = async () => (await this.#readLog()).includes('Config Drift Monitor started');
    await this.#operator.until(`the daemon of ${this.node} to watch its files`, isWatched);
    this.machine.write(FILES.both, 'by hand');
  }

  async #readLog(): Promise<string> {
    const file = join(this.#operator.installed.controlPlane.directory, 'machines', `${this.node}.log`);
    return await readFile(file, 'utf8');
  }

  /** Lets the operator render Y. Unless the pool is paused, it updates the machine. */
  async render(letter: Letter): Promise<void> {
    const previous = await this.#operator.awaitRendered(this.pool);
    await this.#changeSource(letter);
    this.#nameByLetter.set(letter, await this.#operator.awaitRendered(this.pool, previous));
  }

  /** Creates a source that the operator refuses, and waits until it says so. */
  async breakRendering(): Promise<void> {
    await this.#operator.applySource(this.pool, this.#brokenSource, { config: { ignition: { version: '9.9.9' } } });
    const isBroken = (pool: Pool) => hasCondition(pool, 'RenderDegraded');
    await this.#operator.awaitPool(this.pool, 'RenderDegraded', isBroken);
  }

  /** Deletes the source that the operator refuses. */
  mendRendering(): Promise<unknown> {
    return this.#admin.delete(`${PATHS.configs}/${this.#brokenSource}`);
  }

  pause(): Promise<unknown> {
    return this.#admin.patch(`${PATHS.pools}/${this.pool}`, { spec: { paused: true } });
  }

  unpause(): Promise<unknown> {
    return this.#admin.patch(`${PATHS.pools}/${this.pool}`, { spec: { paused: false } });
  }

  /** Deletes a config although it is in use, as the guard allows it with a reason. */
  async deleteConfig(letter: Letter): Promise<void> {
    this.#deleted.set(letter, await this.#getConfig(letter));
    const path = `${PATHS.configs}/${this.nameOf(letter)}`;
    const annotations = { 'machineconfig-guard.io/allow-deletion': 'CHG-7' };
    await this.#admin.patch(path, { metadata: { annotations } });
    expectStatus(await this.#admin.delete(path), [200], `the deletion of ${letter}`);
  }

  /** Creates a deleted config again. @param content the config whose content it gets */
  async createConfig(letter: Letter, content: Letter = letter): Promise<void> {
    const { apiVersion, kind, spec } = this.#deleted.get(content) ?? (await this.#getConfig(content));
    await this.#admin.create(PATHS.configs, { apiVersion, kind, metadata: { name: this.nameOf(letter) }, spec });
  }

  /** Sets annotations of the node, as a person does: configs by their letters, other texts as is. Null removes one. */
  async annotate(values: Readonly<Partial<Record<'currentConfig' | 'desiredConfig', string | null>>>): Promise<void> {
    const entries = Object.entries(values).map(([field, value]) => {
      return [field, this.#nameByLetter.get(value as Letter) ?? value] as const;
    });
    const words = entries.map(([field, value]) => `${MCO}/${field}${value === null ? '-' : `=${value}`}`);
    const args = ['annotate', 'node', this.node, '--overwrite', ...words];
    await kubectlOk(this.#operator.installed.controlPlane, args);
  }

  cordon(): Promise<unknown> {
    return kubectlOk(this.#operator.installed.controlPlane, ['cordon', this.node]);
  }

  /** Starts a pod on the node that no drain may evict. */
  async blockDrain(): Promise<void> {
    const name = this.pool;
    const metadata = { name, labels: { app: name } };
    const container = { name, image: 'app' };
    const spec = { nodeName: this.node, terminationGracePeriodSeconds: 0, containers: [container] };
    await this.#admin.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
    await this.#admin.patch(`${PODS}/${name}/status`, {
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
    const budget = { minAvailable: 1, selector: { matchLabels: { app: name } } };
    await this.#admin.create(BUDGETS, { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec: budget });
    // As the controller of budgets writes it.
    const status = {
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    };
    await this.#admin.patch(`${BUDGETS}/${name}/status`, { status });
  }

  /** Deletes the budget that blocks a drain. */
  async unblockDrain(): Promise<void> {
    expectStatus(await this.#admin.delete(`${BUDGETS}/${this.pool}`), [200], 'the deletion of the budget');
  }

  /** Deletes the pool, and changes a label of the node. Then Y is the config of pool worker, which selects the node. */
  async deletePool(): Promise<void> {
    this.#nameByLetter.set('Y', await this.#operator.awaitRendered('worker'));
    expectStatus(await this.#admin.delete(`${PATHS.pools}/${this.pool}`), [200], 'the deletion of the pool');
    await kubectlOk(this.#operator.installed.controlPlane, ['label', 'node', this.node, 'lab=1']);
  }

  async deleteNode(): Promise<void> {
    expectStatus(await this.#admin.delete(`${PATHS.nodes}/${this.node}`), [200], 'the deletion of the node');
  }

  get #brokenSource(): string {
    return `60-${this.pool}`;
  }

  #changeSource(letter: Letter): Promise<void> {
    const contents = { [FILES.both]: letter, [letter === 'X' ? FILES.onlyX : FILES.onlyY]: letter };
    const files = Object.entries(contents).map(([path, content]) => {
      return { path, mode: 420, overwrite: true, contents: { source: `data:,${content}` } };
    });
    const config = { ignition: { version: '3.4.0' }, storage: { files } };
    return this.#operator.applySource(this.pool, `50-${this.pool}`, { config, kernelArguments: [KERNEL_ARGUMENT] });
  }

  async #getConfig(letter: Letter): Promise<KubeObject> {
    const config = await this.#admin.find(`${PATHS.configs}/${this.nameOf(letter)}`);
    if (config === undefined) throw new Error(`${letter} does not exist`);
    return config;
  }

  /** The name of a config. */
  nameOf(letter: Letter): string {
    const name = this.#nameByLetter.get(letter);
    if (name === undefined) throw new Error(`pool ${this.pool} has no config ${letter} yet`);
    return name;
  }

  #formatRow({ state, reason, current, desired }: NodeReport): string {
    const text = `${state} ${current}→${desired}${reason === '' ? '' : ` ${JSON.stringify(reason)}`}`;
    return this.toLetters(text);
  }
}
