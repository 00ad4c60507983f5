import type { Fault } from '../support/fault.ts';

/** For how long an API server remembers that a token was good (kubernetes, pkg/kubeapiserver/options/authentication.go). */
const REMEMBERED_MS = 10_000;

export const tokenRotated: Fault = {
  name: 'token-rotated',
  title: "The guard's token is replaced in its file, the old one refused",
  seen: 'nothing',
  answers: { used: ['in use'], free: ['let go'] },
  lastsMs: REMEMBERED_MS + 2_000,
  begin: async ({ token }) => {
    const revokeOld = await token.replace();
    await revokeOld();
    return () => undefined;
  },
};

export const tokenRevoked: Fault = {
  name: 'token-revoked',
  title: "The guard's token is refused, a new one comes later",
  seen: '`the API server answered 401` in [MCG_UNVERIFIED](codes.md#mcg_unverified); [what to do](troubleshooting.md#the-api-server-answered-401)',
  answers: { used: ['in use', 'unverified'], free: ['let go', 'unverified'] },
  proof: 'unverified',
  lastsMs: REMEMBERED_MS + 3_000,
  begin: async ({ token }) => {
    await token.revoke();
    return async () => {
      await token.replace();
    };
  },
};
