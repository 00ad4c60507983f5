import type { Fault } from '../fault.ts';

/** How long an API server caches a valid token (kubernetes, pkg/kubeapiserver/options/authentication.go). */
const TOKEN_CACHE_MS = 10_000;

const tokenRotated: Fault = {
  name: 'token-rotated',
  title: "The guard's token is rotated",
  seen: 'nothing',
  durationMs: TOKEN_CACHE_MS + 2_000,
  inject: async ({ token }) => {
    await token.rotate();
    return () => undefined;
  },
};

const tokenRevoked: Fault = {
  name: 'token-revoked',
  title: "The guard's token is revoked and replaced later",
  seen: '[`the API server answered 401`](troubleshooting.md#the-api-server-answered-401)',
  requiredAnswer: 'unverified',
  durationMs: TOKEN_CACHE_MS + 3_000,
  inject: async ({ token }) => {
    await token.revoke();
    return () => token.replace();
  },
};

export const TOKEN_FAULTS = [tokenRotated, tokenRevoked];
