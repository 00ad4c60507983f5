import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundle } from '../../build/bundle.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The bundle of the program. It starts in a fraction of the time that its sources need. */
    readonly program: string;
  }
}

/** Bundles the programs that tests start in processes of their own. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(path.join(tmpdir(), 'mcg-programs-'));
  const program = path.join(directory, 'machineconfig-guard.cjs');
  await bundle(program);
  project.provide('program', program);
  return async () => await rm(directory, { recursive: true });
}
