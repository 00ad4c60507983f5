import { expect, test } from 'vitest';
import { ApiError } from '../../src/kube/errors.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { parseNodeReferrer } from '../../src/mco/parse-referrer.ts';
import { DanglingReferenceDetector } from '../../src/status/dangling-reference-detector.ts';
import { memoryLog } from '../support/log.ts';
import { indexOf } from '../support/reference-index.ts';
import { countTurns } from '../support/turns.ts';

test('lets other work run while it reads and reports thousands of references', async () => {
  const annotations = { 'machineconfiguration.openshift.io/currentConfig': 'rendered-worker-1' };
  const nodes = Array.from({ length: 2_000 }, (_, index) => {
    return parseNodeReferrer({ metadata: { name: `worker-${index}`, annotations } });
  });
  const names = () => new Set([toConfigName('rendered-worker-2')]);
  const detector = new DanglingReferenceDetector({
    api: { json: async () => await Promise.reject(new ApiError(404, 'NotFound', 'not found')) },
    index: { isSynced: true, byConfig: indexOf(nodes).byConfig, listPools: () => [] },
    configs: { isSynced: true, names, deletedAt: () => undefined },
    log: memoryLog().log,
    now: () => new Date(),
  });
  expect(await countTurns(detector.check(new AbortController().signal))).toBeGreaterThanOrEqual(8);
  expect(detector.findings).toHaveLength(2_000);
});
