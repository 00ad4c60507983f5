import { runTool } from './run-tool.ts';

/**
 * Reads the time of everything in a release, in seconds since 1970: SOURCE_DATE_EPOCH
 * (https://reproducible-builds.org/specs/source-date-epoch), or else the time of the commit.
 *
 * @throws Error if neither is known
 */
export async function readTimestamp(env = process.env): Promise<number> {
  const text = env['SOURCE_DATE_EPOCH'] ?? (await readCommitTime());
  if (/^\d{1,11}$/.test(text)) return Number(text);
  throw new Error(`SOURCE_DATE_EPOCH is not a number of seconds: ${JSON.stringify(text)}`);
}

async function readCommitTime(): Promise<string> {
  try {
    return (await runTool('git', ['log', '-1', '--format=%ct'])).trim();
  } catch (error) {
    throw new Error('the time of the commit is unknown; set SOURCE_DATE_EPOCH', { cause: error });
  }
}
