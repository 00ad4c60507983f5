/**
 * OpenShift's values. The holder keeps the Lease through a minute without the API server (openshift/enhancements,
 * CONVENTIONS.md).
 */
export const LEASE_DURATION_MS = 137_000;
export const LEASE_RETRY_MS = 26_000;
/** Of each of the two requests of an attempt. */
export const LEASE_TIMEOUT_MS = 10_000;
