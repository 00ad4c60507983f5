/**
 * Changes the code of folders of src/ with Stryker, and runs their tests. The changes that no test notices must be
 * those of survivors/. Stryker keeps the results of a folder in .stryker/, so the next run only tests what differs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parse, stringify } from 'yaml';
import { runCommand } from '../e2e/support/runner.ts';
import { ROOT } from '../support/copy-repository.ts';
import { UsageError } from '../support/usage.ts';
import { compareSurvivors, countMutants, findSurvivors, type MutationReport, type SurvivorList } from './survivors.ts';

const HELP = `Changes the code of folders of src/, and fails if no test notices a change that
test/mutation/survivors/ does not list.

Usage: npm run test:mutate [-- FOLDER...]

Without a folder, it takes those with a list. A folder without a list gets one, such as:
  npm run test:mutate -- cli/steps
`;

const LISTS = path.join(import.meta.dirname, 'survivors');

const toListFile = (folder: string) => path.join(LISTS, `${folder.replaceAll('/', '-')}.yaml`);

/** Returns what is wrong with the list of a folder. */
async function testFolder(folder: string): Promise<readonly string[]> {
  const reportFile = path.join(ROOT, '.stryker', `${folder.replaceAll('/', '-')}.json`);
  const args = [
    'node_modules/@stryker-mutator/core/bin/stryker.js',
    'run',
    `--mutate=src/${folder}/**/*.ts`,
    '--incremental',
    `--incrementalFile=${reportFile}`,
  ];
  const env = { ...process.env, MCG_MUTATED: folder };
  const stryker = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] });
  const [exitCode] = (await once(stryker, 'exit')) as [number | null];
  if (exitCode !== 0) return [`${folder}: Stryker ended with ${exitCode}`];

  const report = JSON.parse(readFileSync(reportFile, 'utf8')) as MutationReport;
  const survivors = findSurvivors(report);
  const total = countMutants(report);
  const count = Object.values(survivors).flat().length;
  console.log(`${folder}: ${total - count} of ${total} changes noticed`);
  const file = toListFile(folder);
  if (!existsSync(file)) {
    const list: SurvivorList = { folder, measured: new Date().toISOString().slice(0, 10), changes: total, survivors };
    writeFileSync(file, stringify(list, { lineWidth: 0 }));
    return [];
  }
  const { survivors: listed } = parse(readFileSync(file, 'utf8')) as SurvivorList;
  return compareSurvivors(survivors, listed);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: { help: { type: 'boolean' } }, allowPositionals: true });
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  const listed = readdirSync(LISTS).map(
    (file) => (parse(readFileSync(path.join(LISTS, file), 'utf8')) as SurvivorList).folder,
  );
  const folders = positionals.length > 0 ? positionals : listed;
  const missing = folders.find((folder) => !existsSync(path.join(ROOT, 'src', folder)));
  if (missing !== undefined) throw new UsageError(`src/ has no folder "${missing}".`);
  const problems: string[] = [];
  for (const folder of folders) problems.push(...(await testFolder(folder)));
  for (const problem of problems) console.log(problem);
  console.log(`\n${folders.length} folders, ${problems.length} problems`);
  return problems.length === 0 ? 0 : 1;
}

await runCommand('test:mutate', main);
