import type { KubeResponse } from '../e2e/control-plane/kube-client.ts';
import { until } from '../e2e/control-plane/until.ts';
import type { Cluster } from '../e2e/support/cluster.ts';
import { interleave, type Summary } from './interleave.ts';

export interface Deletion {
  /** The candidate that decides about it. */
  readonly candidate: string;
  readonly config: string;
  /** The expected HTTP status. */
  readonly answer: 200 | 403;
}

const EFFECTIVE_TIMEOUT_MS = 60_000;

/** Waits until every candidate is registered and has received the nodes. */
export async function awaitAnswers(cluster: Cluster, deletions: readonly Deletion[]): Promise<void> {
  for (const { candidate, config, answer } of deletions) {
    let found: unknown;
    const isRight = async () => {
      const response = await cluster.dryRun(config);
      found = response.body;
      return response.status === answer;
    };
    const what = () => `the right answer of ${candidate}. The last one: ${JSON.stringify(found)}`;
    await until(what, isRight, { timeoutMs: EFFECTIVE_TIMEOUT_MS });
  }
}

/**
 * Measures dry-run deletions in turn and summarizes them by config. `late` counts those without an answer in time.
 *
 * @param clients parallel requests for the same config
 * @throws Error if an answer is wrong
 */
export async function measureDeletions(
  cluster: Cluster,
  deletions: readonly Deletion[],
  { rounds, clients }: { readonly rounds: number; readonly clients: number },
): Promise<ReadonlyMap<string, Summary & { readonly late: number }>> {
  const late = new Map<string, number>();
  const measure = async ({ config, answer }: Deletion) => {
    const responses = await Promise.all(Array.from({ length: clients }, () => cluster.dryRun(config)));
    const lateCount = responses.filter((response) => !isInTime(response, answer)).length;
    late.set(config, (late.get(config) ?? 0) + lateCount);
    return responses.map(({ ms }) => ms);
  };
  const measurements = deletions.map((one) => ({ name: one.config, measure: () => measure(one) }));
  const summaries = [...(await interleave(measurements, rounds))];
  return new Map(summaries.map(([config, summary]) => [config, { ...summary, late: late.get(config) ?? 0 }]));
}

/**
 * Whether a deletion was not denied after a timeout.
 *
 * @throws Error if the answer is wrong
 */
export function isInTime({ status, body }: KubeResponse, answer: Deletion['answer']): boolean {
  if (status === answer) return true;
  if (status >= 500) return false;
  throw new Error(`The answer is ${status}, not ${answer}: ${JSON.stringify(body).slice(0, 500)}`);
}
