import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { debianProgram } from '../../support/debian-program.ts';
import type { Fault } from '../fault.ts';

/** libfaketime reads the offset of the guard's clock from this file at each call. */
const offsetFileIn = (directory: string) => join(directory, 'clock-offset');

/** Fakes the time of day only. Setting a clock does not change the monotonic one, which timers use. */
async function fakeClock(directory: string) {
  await setClock(directory, '+0');
  return {
    env: {
      LD_PRELOAD: await findFakeTimeLibrary(),
      FAKETIME_TIMESTAMP_FILE: offsetFileIn(directory),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  };
}

async function findFakeTimeLibrary(): Promise<string> {
  const { file } = await debianProgram('faketime', ['faketime', 'libfaketime']);
  const root = join(dirname(file), '..', 'lib');
  const candidates = readdirSync(root).map((name) => join(root, name, 'faketime', 'libfaketime.so.1'));
  const library = candidates.find((candidate) => existsSync(candidate));
  if (library === undefined) throw new Error(`There is no libfaketime.so.1 below ${root}.`);
  return library;
}

function setClock(directory: string, offset: string): Promise<void> {
  return writeFile(offsetFileIn(directory), offset);
}

const clockBehind: Fault = {
  name: 'clock-behind',
  title: "The guard's clock goes back an hour",
  seen: 'nothing',
  launch: fakeClock,
  durationMs: 4_000,
  inject: async ({ controlPlane: { directory } }) => {
    await setClock(directory, '-1h');
    return () => setClock(directory, '+0');
  },
};

/** The guard must reconnect: TLS checks a certificate once per connection. */
const clockAhead: Fault = {
  name: 'clock-ahead',
  title: "The guard's clock goes forward a year",
  seen: "[`… cannot be reached: CERT_HAS_EXPIRED`](troubleshooting.md#-cannot-be-reached-); set the node's clock",
  launch: fakeClock,
  preventsRightAnswers: true,
  requiredAnswer: 'unverified',
  durationMs: 15_000,
  inject: async ({ controlPlane: { directory }, network }) => {
    await setClock(directory, '+365d');
    await network.refuse();
    await network.resume();
    return () => setClock(directory, '+0');
  },
};

export const CLOCK_FAULTS = [clockBehind, clockAhead];
