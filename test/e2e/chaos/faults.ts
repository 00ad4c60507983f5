import { apiServerFrozen, apiServerKilled } from './faults/api-server.ts';
import { clockAhead, clockBehind } from './faults/clock.ts';
import { etcdRestored } from './faults/etcd-restored.ts';
import { guardFrozen, guardKilled } from './faults/guard-process.ts';
import { logFull, logNotRead } from './faults/log.ts';
import { everyRequestRefused, slowAnswers, someRequestsRefused } from './faults/load.ts';
import { connectionsForgotten, networkSwallows } from './faults/network.ts';
import { cpuStarved, descriptorsExhausted } from './faults/resources.ts';
import { tokenRevoked, tokenRotated } from './faults/token.ts';
import type { Fault } from './support/fault.ts';

/** Everything that is done to the guard, in the order of the table in docs/failure-modes.md. */
export const FAULTS: readonly Fault[] = [
  apiServerKilled,
  apiServerFrozen,
  etcdRestored,
  networkSwallows,
  connectionsForgotten,
  everyRequestRefused,
  someRequestsRefused,
  slowAnswers,
  tokenRotated,
  tokenRevoked,
  guardFrozen,
  guardKilled,
  cpuStarved,
  clockBehind,
  clockAhead,
  logFull,
  logNotRead,
  descriptorsExhausted,
];
