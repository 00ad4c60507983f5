import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { debianProgram } from '../../support/debian-program.ts';
import type { Fault } from '../support/fault.ts';

/** Its clock is libfaketime's; how far it is off is read from this file with each look at it. */
const fileIn = (directory: string) => join(directory, 'clock-offset');

/** Only the time of day: a clock that is set does not move the one that timers count by. */
async function withFalseClock(directory: string) {
  await writeFile(fileIn(directory), '+0');
  return {
    env: {
      LD_PRELOAD: await fakeTimeLibrary(),
      FAKETIME_TIMESTAMP_FILE: fileIn(directory),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  };
}

async function fakeTimeLibrary(): Promise<string> {
  const { file } = await debianProgram('faketime', ['faketime', 'libfaketime']);
  const root = join(dirname(file), '..', 'lib');
  const library = readdirSync(root)
    .map((name) => join(root, name, 'faketime', 'libfaketime.so.1'))
    .find(existsSync);
  if (library === undefined) throw new Error(`There is no libfaketime.so.1 below ${root}.`);
  return library;
}

function setClock(directory: string, by: string): Promise<void> {
  return writeFile(fileIn(directory), by);
}

export const clockBehind: Fault = {
  name: 'clock-behind',
  title: "The guard's clock goes back by an hour",
  seen: 'nothing',
  launch: withFalseClock,
  answers: { used: ['in use'], free: ['let go'] },
  lastsMs: 4_000,
  begin: async ({ controlPlane: { directory } }) => {
    await setClock(directory, '-1h');
    return () => setClock(directory, '+0');
  },
};

/** It has to connect anew meanwhile: a certificate is looked at once a connection. */
export const clockAhead: Fault = {
  name: 'clock-ahead',
  title: "The guard's clock goes ahead by a year",
  seen: '`… cannot be reached: CERT_HAS_EXPIRED` in [MCG_UNVERIFIED](codes.md#mcg_unverified); set the clock of the node',
  launch: withFalseClock,
  answers: { used: ['unverified'], free: ['unverified'] },
  proof: 'unverified',
  lastsMs: 15_000,
  begin: async ({ controlPlane: { directory }, network }) => {
    await setClock(directory, '+365d');
    await network.refuse();
    await network.resume();
    return () => setClock(directory, '+0');
  },
};
