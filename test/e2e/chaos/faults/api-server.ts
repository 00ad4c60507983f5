import type { Fault } from '../support/fault.ts';

const OUT_OF_REACH =
  '`… cannot be reached` or `no complete answer in time` in [MCG_UNVERIFIED](codes.md#mcg_unverified); [what to do](troubleshooting.md#-cannot-be-reached-)';

export const apiServerKilled: Fault = {
  name: 'api-server-killed',
  title: 'The API server that the guard reads from is killed',
  seen: OUT_OF_REACH,
  askAnother: true,
  answers: { used: ['unverified', 'in use'], free: ['unverified', 'let go'] },
  proof: 'unverified',
  lastsMs: 5_000,
  begin: async ({ controlPlane: { apiServer } }) => {
    await apiServer.kill();
    return () => apiServer.start();
  },
};

/** Its connections stay open: requests get no answer, watches no end. */
export const apiServerFrozen: Fault = {
  name: 'api-server-frozen',
  title: 'The API server that the guard reads from stands still',
  seen: OUT_OF_REACH,
  askAnother: true,
  answers: { used: ['unverified', 'in use'], free: ['unverified', 'let go'] },
  proof: 'unverified',
  lastsMs: 6_000,
  begin: ({ controlPlane: { apiServer } }) => {
    apiServer.signal('SIGSTOP');
    return () => apiServer.signal('SIGCONT');
  },
};
