import path from 'node:path';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

/**
 * Names the tests that were skipped, and fails the run if one of them does not say why. `.ci/counts.mjs` reads the
 * lines. Says nothing if the caller selected tests by their names.
 */
export default class SkippedTests implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#vitest?.config.testNamePattern !== undefined) return;
    const skipped = modules.flatMap(({ children }) => [...children.allTests('skipped')]);
    for (const test of skipped) console.log(`skipped: ${describeTest(test)}: ${findReason(test) ?? 'no reason'}`);
    if (skipped.some((test) => findReason(test) === undefined)) process.exitCode = 1;
  }
}

function describeTest({ module, fullName }: TestCase): string {
  return `${path.relative(process.cwd(), module.moduleId)}: ${fullName}`;
}

function findReason(test: TestCase): string | undefined {
  const result = test.result();
  return result.state === 'skipped' ? result.note : undefined;
}
