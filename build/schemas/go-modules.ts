import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** Its go.sum has the checksum of every module. Go verifies it. */
const MODULE = join(import.meta.dirname, 'go-types');

/** Go is not there, or the module proxy is not reachable. The message is one sentence for a person. */
export class MissingModuleError extends Error {
  override readonly name = 'MissingModuleError';
}

/**
 * Downloads a module, and returns its read-only folder.
 * @param module path and version
 * @throws MissingModuleError
 */
export async function downloadModule(module: string): Promise<string> {
  const output = await run('go', ['mod', 'download', '-json', module]);
  return (JSON.parse(output) as { readonly Dir: string }).Dir;
}

/**
 * Runs the program in go-types, and returns the lines that it prints.
 * @throws MissingModuleError
 */
export async function runGo(args: readonly string[]): Promise<string[]> {
  return (await run('go', ['run', '-trimpath', '.', ...args])).trimEnd().split('\n');
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' };
  const child = spawn(program, args, { cwd: MODULE, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (chunk: Buffer) => chunks[name].push(chunk));
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on('error', () => reject(new MissingModuleError('Go is not installed (https://go.dev/dl).')));
    child.on('close', resolve);
  });
  const [stdout = '', stderr = ''] = Object.values(chunks).map((each) => Buffer.concat(each).toString());
  if (exitCode === 0) return stdout;
  throw new MissingModuleError(`go ${args.slice(0, 4).join(' ')} failed: ${stderr || stdout}`);
}
