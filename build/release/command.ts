import { HELP, parseOptions, UsageError } from './options.ts';
import { createRelease } from './release.ts';
import { runTool } from './run-tool.ts';

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) {
    process.stdout.write(HELP);
  } else {
    const { image, warnings } = await createRelease({ ...options, timestamp: await readTimestamp() });
    for (const warning of warnings) console.error(`warning: ${warning}`);
    console.log(`${options.directory}\n${image}`);
  }
} catch (error) {
  console.error(`release: ${(error as Error).message}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

/** Of everything in a release, in seconds since 1970 (https://reproducible-builds.org/specs/source-date-epoch). */
async function readTimestamp(): Promise<number> {
  const text = process.env['SOURCE_DATE_EPOCH'] ?? (await runTool('git', ['log', '-1', '--format=%ct'])).trim();
  if (/^\d{1,11}$/.test(text)) return Number(text);
  throw new Error(`SOURCE_DATE_EPOCH is not a number of seconds: ${JSON.stringify(text)}`);
}
