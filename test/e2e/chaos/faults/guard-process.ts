import type { Fault } from '../support/fault.ts';

export const guardFrozen: Fault = {
  name: 'guard-frozen',
  title: 'The guard stands still',
  seen: '`failed calling webhook … context deadline exceeded`; [what to do](troubleshooting.md#-context-deadline-exceeded)',
  answers: { used: ['guard not reached', 'in use'], free: ['guard not reached', 'let go'] },
  proof: 'guard not reached',
  lastsMs: 7_000,
  begin: ({ guard }) => {
    guard.signal('SIGSTOP');
    return () => guard.signal('SIGCONT');
  },
};

export const guardKilled: Fault = {
  name: 'guard-killed',
  title: 'The guard is killed and started again',
  seen: '`failed calling webhook … connect: connection refused`; [what to do](troubleshooting.md#-connect-connection-refused)',
  endsGuard: true,
  // The new process answers as soon as it listens.
  answers: {
    used: ['guard not reached', 'unverified', 'in use'],
    free: ['guard not reached', 'unverified', 'let go'],
  },
  proof: 'guard not reached',
  lastsMs: 3_000,
  begin: async ({ guard }) => {
    await guard.kill();
    return () => guard.restart();
  },
};
