import type { Fault } from './fault.ts';
import { API_SERVER_FAULTS } from './faults/api-server.ts';
import { CLOCK_FAULTS } from './faults/clock.ts';
import { GUARD_FAULTS } from './faults/guard.ts';
import { LOAD_FAULTS } from './faults/load.ts';
import { LOG_FAULTS } from './faults/log.ts';
import { NETWORK_FAULTS } from './faults/network.ts';
import { cpuLimited, descriptorsExhausted } from './faults/resource-limits.ts';
import { TOKEN_FAULTS } from './faults/token.ts';

/** All faults, in the order of the table in docs/failure-modes.md. */
export const FAULTS: readonly Fault[] = [
  ...API_SERVER_FAULTS,
  ...NETWORK_FAULTS,
  ...LOAD_FAULTS,
  ...TOKEN_FAULTS,
  ...GUARD_FAULTS,
  cpuLimited,
  ...CLOCK_FAULTS,
  ...LOG_FAULTS,
  descriptorsExhausted,
];
