import { expect } from 'vitest';
import { LEAF_DAYS } from '../../../src/certificates/authority-secret.ts';
import { AUTHORITY_DAYS } from '../../../src/certificates/authority.ts';
import { parseDuration } from '../../../src/common/duration.ts';
import { type GuardSet, type Installed, type Relation, required } from './relation.ts';

const DAY_MS = 24 * 3_600_000;

export const CERTIFICATE_RELATIONS: readonly Relation[] = [
  {
    rule: 'the authority of cert-manager lives as long as one that render makes, because its rotation needs a person',
    check: (installed) => {
      const authorities = installed.list('Certificate').filter(({ spec }) => spec.isCA);
      expect(authorities.length).toBeGreaterThan(0);
      for (const { spec } of authorities) {
        expect(toMs(spec.duration)).toBe(AUTHORITY_DAYS * DAY_MS);
        expect(spec.privateKey).toEqual({ algorithm: 'RSA', size: 3072, rotationPolicy: 'Never' });
      }
    },
  },
  {
    rule: 'cert-manager renews the serving certificate long before the alert of its end',
    check: (installed) => {
      for (const { spec } of listServing(installed)) {
        expect(toMs(spec.renewBefore)).toBeGreaterThan(7 * readAlertMs(installed, 'serving'));
        expect(toMs(spec.duration)).toBeGreaterThan(2 * toMs(spec.renewBefore));
        expect(spec.usages).toEqual(['digital signature', 'key encipherment', 'server auth']);
        expect(spec.privateKey).toEqual({ algorithm: 'RSA', size: 2048, rotationPolicy: 'Always' });
      }
    },
  },
  {
    rule: 'the guard renews its certificate before the alert of its end',
    check: (installed) => {
      const lastThirdMs = (LEAF_DAYS * DAY_MS) / 3;
      expect(lastThirdMs).toBeGreaterThan(2 * readAlertMs(installed, 'serving'));
    },
  },
  {
    rule: 'the alert leaves a person a month to rotate the authority',
    check: (installed) => expect(readAlertMs(installed, 'authority')).toBeGreaterThanOrEqual(30 * DAY_MS),
  },
  {
    rule: 'the serving certificate has the name at which the API server calls the Service',
    checkGuard: (guard) => {
      const { name, namespace } = guard.get('Service').metadata;
      for (const { spec } of guard.list('Certificate').filter(isServing))
        expect(spec.dnsNames).toEqual([`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`]);
    },
  },
  {
    rule: 'an Issuer of the set signs each Certificate, and the one for the serving certificate has the authority',
    checkGuard: (guard) => {
      const authority = guard.list('Certificate').find(({ spec }) => spec.isCA);
      for (const { spec } of guard.list('Certificate')) {
        const issuer = findIssuer(guard, spec.issuerRef.name);
        expect(issuer.apiVersion.split('/')[0]).toBe(spec.issuerRef.group);
        expect(issuer.kind).toBe(spec.issuerRef.kind);
        expect(issuer.spec).toEqual(
          spec.isCA === true ? { selfSigned: {} } : { ca: { secretName: authority?.spec.secretName } },
        );
      }
    },
  },
];

function isServing({ spec }: { readonly spec: { readonly isCA?: boolean } }): boolean {
  return spec.isCA !== true;
}

function listServing(installed: Installed) {
  const serving = installed.list('Certificate').filter(isServing);
  expect(serving.length).toBeGreaterThan(0);
  return serving;
}

function findIssuer(guard: GuardSet, name: string) {
  return required(guard.list('Issuer').find(({ metadata }) => metadata.name === name));
}

/** A duration of Go. */
function toMs(duration: string | undefined): number {
  return required(parseDuration(required(duration)));
}

/** How long before the end of a certificate the alert fires. */
function readAlertMs(installed: Installed, certificate: string): number {
  const [, factors = ''] =
    new RegExp(`certificate="${certificate}"\\}\\[5m\\]\\)\\) - time\\(\\) < ([\\d *]+)`).exec(
      installed.alert('MachineConfigGuardCertificateExpiring').expr,
    ) ?? [];
  const seconds = factors.split('*').map(Number);
  return seconds.reduce((product, factor) => product * factor, 1) * 1_000;
}
