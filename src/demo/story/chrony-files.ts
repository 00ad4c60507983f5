/** The two rendered configs of a story differ in this file. */
export const CHRONY_FILES = {
  bootstrap: 'server 0.rhel.pool.ntp.org iburst\n',
  cluster: 'server ntp.example.com iburst\n',
} as const;
