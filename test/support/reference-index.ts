import type { KubeApi } from '../../src/kube/api.ts';
import type { Referrer } from '../../src/mco/referrer.ts';
import { ReferenceIndex } from '../../src/references/reference-index.ts';
import { memoryLog } from './log.ts';

/** An index as after a list of these referrers. It has no watches. */
export function indexOf(referrers: Iterable<Referrer>): ReferenceIndex {
  const index = new ReferenceIndex({ api: {} as KubeApi, log: memoryLog().log });
  for (const referrer of referrers) index.update(undefined, referrer, 'list');
  return index;
}
