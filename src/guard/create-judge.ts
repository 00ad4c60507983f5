import type { KubeApi } from '../kube/api.ts';
import { ConfigIndex } from '../references/config-index.ts';
import { LiveReader } from '../references/live-reader.ts';
import { ReferenceIndex } from '../references/reference-index.ts';
import type { UseHistory } from '../review/hold.ts';
import { Judge, type JudgeOptions } from '../review/judge.ts';

export interface CreateJudgeOptions extends Pick<JudgeOptions, 'api' | 'settings' | 'log'> {
  /** For the watches; the same as `api` by default. */
  readonly watchApi?: KubeApi;
}

/** The parts of a guard that decide. */
interface JudgeParts {
  readonly judge: Judge;
  readonly index: ReferenceIndex;
  readonly configs: ConfigIndex;
  readonly live: LiveReader;
  readonly history: UseHistory;
}

/** Connects all parts that decide. The caller runs the two indexes. */
export function createJudge({ api, watchApi = api, ...options }: CreateJudgeOptions): JudgeParts {
  const { log } = options;
  const index = new ReferenceIndex({ api: watchApi, log });
  const configs = new ConfigIndex({ api: watchApi, log });
  const live = new LiveReader({ api, index });
  const history: UseHistory = {
    createdAt: configs.createdAt.bind(configs),
    findLastUse: index.pools.findLastUse.bind(index.pools),
  };
  const judge = new Judge({ api, index, live, configs, history, ...options });
  return { judge, index, configs, live, history };
}
