import { HELP, parseOptions, UsageError } from './options.ts';
import { createRelease } from './release.ts';
import { readTimestamp } from './timestamp.ts';

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
