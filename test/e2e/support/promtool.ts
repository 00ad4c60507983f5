import { dirname, join } from 'node:path';

import { debianProgram } from './debian-program.ts';

/** The checker of rules in Debian's package of Prometheus. */
export async function findPromtool(): Promise<string> {
  const { file } = await debianProgram('prometheus', ['prometheus']);
  return join(dirname(file), 'promtool');
}
