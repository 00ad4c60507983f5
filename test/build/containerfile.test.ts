import { expect, test } from 'vitest';
import { findAll, readFile } from '../docs/pages.ts';

const CONTAINERFILE = readFile('Containerfile').replaceAll('\\\n', ' ');

test('the base image has an exact version or a digest, and both stages use it', () => {
  // The version and release of one build. Red Hat also has tags that move, such as 9.8.
  const [image = ''] = findAll(CONTAINERFILE, /^ARG BASE_IMAGE=(.*)$/gm);
  expect(image).toMatch(/:\d+\.\d+-\d{10}$|@sha256:[0-9a-f]{64}$/);
  expect(findAll(CONTAINERFILE, /^FROM (.*)$/gm)).toEqual(['${BASE_IMAGE} AS build', '${BASE_IMAGE}']);
});

test('.containerignore lets through exactly the files that the build stage copies', () => {
  const sources = findAll(CONTAINERFILE, /^COPY (?!--)(.*) \S+$/gm).flatMap((line) => line.trim().split(/\s+/));
  const allowed = findAll(readFile('.containerignore'), /^!(.*)$/gm);
  expect(sources.map((source) => source.replace(/\/$/, '')).toSorted()).toEqual(allowed.toSorted());
});
