import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { formatKrewManifest } from '../../../build/release/krew-manifest.ts';
import { createTemporaryDirectory } from '../../cli/temporary-directory.ts';

// test/release validates and installs the manifest of a release with Krew.
test('the manifest for Krew names the archives of the release with their checksums', async () => {
  const directory = createTemporaryDirectory();
  for (const name of ['amd64', 'arm64']) {
    writeFileSync(path.join(directory, `machineconfig-guard-linux-${name}.tar.gz`), name);
  }

  const manifest = parse(await formatKrewManifest(directory, '1.2.0')) as unknown;

  const url = 'https://github.com/machineconfig-guard/machineconfig-guard/releases/download/v1.2.0';
  // From sha256sum.
  const sums = {
    amd64: '5861314d7fccb39c2192173240eab44fa35ca66426201ca2acd0630a6258dd51',
    arm64: 'f69162950f235e3cdbbad33f1f912d1a504be90d8a37d002c735d6f3e3882265',
  };
  expect(manifest).toMatchObject({
    metadata: { name: 'mcguard' },
    spec: {
      version: 'v1.2.0',
      platforms: Object.entries(sums).map(([arch, sha256]) => ({
        selector: { matchLabels: { os: 'linux', arch } },
        uri: `${url}/machineconfig-guard-linux-${arch}.tar.gz`,
        sha256,
      })),
    },
  });
});
