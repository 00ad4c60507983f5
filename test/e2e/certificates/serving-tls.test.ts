import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { issueLeaf } from '../../../src/certificates/authority.ts';
import { forceReconnect, SERVICE_NAME } from '../support/guard-processes.ts';
import { probeCalls } from '../support/prober.ts';
import { IS_LONG } from '../support/runner.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

const ROTATIONS = IS_LONG ? 200 : 8;

const { guard, cluster, controlPlane, serviceCa } = await sharedGuardedCluster();

/** Writes a new certificate and key, and returns the serial number. */
async function rotateLeaf(): Promise<string> {
  const authority = await serviceCa.getAuthority();
  const names = { dnsNames: [SERVICE_NAME], ipAddresses: ['127.0.0.1'] };
  const leaf = await issueLeaf({ authority, ...names, days: 7, now: new Date() });
  const files = { 'tls.key': leaf.privateKeyPem, 'tls.crt': leaf.certificatePem };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(guard.certDir, `${name}.new`), text);
    await rename(join(guard.certDir, `${name}.new`), join(guard.certDir, name));
  }
  return new X509Certificate(leaf.certificatePem).serialNumber;
}

async function readServedSerial(): Promise<string | undefined> {
  const { hostname: host, port } = new URL(guard.url);
  const socket = connect({ host, port: Number(port), ca: guard.ca });
  const secured = once(socket, 'secureConnect').then(() => socket.getPeerX509Certificate()?.serialNumber);
  return secured.finally(() => socket.destroy());
}

test(`no call fails during ${ROTATIONS} rotations of the leaf`, async () => {
  const failedCalls = await probeCalls(cluster, async (prober) => {
    for (let rotation = 1; rotation <= ROTATIONS; rotation += 1) {
      const serial = await rotateLeaf();
      await expect.poll(readServedSerial).toBe(serial);
      await forceReconnect(controlPlane, guard, `rotation ${rotation}`);
      await prober.awaitRightAnswers();
    }
  });

  expect(failedCalls).toEqual([]);
}, 1_800_000);
