import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * Writes base images for amd64 and arm64 as an OCI image layout. Each has one file, because a release runs nothing in
 * its image.
 */
export function writeBaseImages(layout: string): void {
  const root = mkdtempSync(path.join(tmpdir(), 'mcg-base-'));
  const images = ['amd64', 'arm64'].map((architecture) => {
    writeFileSync(path.join(root, 'base'), architecture);
    return { ...writeImage(layout, root, architecture), platform: { os: 'linux', architecture } };
  });
  rmSync(root, { recursive: true });
  const type = 'application/vnd.oci.image.index.v1+json';
  const index = writeBlob(layout, type, { schemaVersion: 2, mediaType: type, manifests: images });
  writeFileSync(path.join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(path.join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [index] }));
}

function writeImage(layout: string, root: string, architecture: string) {
  const layer = execFileSync('tar', ['--create', '--mtime=@0', '--owner=0', '--group=0', 'base'], {
    cwd: root,
  });
  const blob = writeBlob(layout, 'application/vnd.oci.image.layer.v1.tar', layer);
  const rootfs = { type: 'layers', diff_ids: [blob.digest] };
  const config = { architecture, os: 'linux', config: { Env: ['PATH=/usr/bin'] }, rootfs };
  const type = 'application/vnd.oci.image.manifest.v1+json';
  return writeBlob(layout, type, {
    schemaVersion: 2,
    mediaType: type,
    config: writeBlob(layout, 'application/vnd.oci.image.config.v1+json', config),
    layers: [blob],
  });
}

function writeBlob(layout: string, mediaType: string, value: object | Buffer) {
  const content = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value));
  const hash = createHash('sha256').update(content).digest('hex');
  const directory = path.join(layout, 'blobs', 'sha256');
  mkdirSync(directory, { recursive: true });
  writeFileSync(path.join(directory, hash), content);
  return { mediaType, digest: `sha256:${hash}`, size: content.length };
}
