import type { Fault } from '../fault.ts';

const guardFrozen: Fault = {
  name: 'guard-frozen',
  title: 'The guard hangs',
  seen: '[`… context deadline exceeded`](troubleshooting.md#-context-deadline-exceeded)',
  requiredAnswer: 'guard unreachable',
  durationMs: 7_000,
  inject: ({ guard }) => {
    guard.signal('SIGSTOP');
    return () => guard.signal('SIGCONT');
  },
};

const guardKilled: Fault = {
  name: 'guard-killed',
  title: 'The guard is killed and restarts',
  seen: '[`… connect: connection refused`](troubleshooting.md#-connect-connection-refused)',
  isInShortRun: true,
  endsGuard: true,
  requiredAnswer: 'guard unreachable',
  durationMs: 3_000,
  inject: async ({ guard }) => {
    await guard.kill();
    return () => guard.restart();
  },
};

export const GUARD_FAULTS = [guardFrozen, guardKilled];
