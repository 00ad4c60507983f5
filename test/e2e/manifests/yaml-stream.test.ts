import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { FileError } from '../../../src/files/file-error.ts';
import { createNodeBudget } from '../../../src/files/yaml-document.ts';
import { parseStream } from '../../../src/files/yaml-stream.ts';
import { IS_LONG } from '../support/runner.ts';
import { buildGoReaders, type GoReading } from './go-readers.ts';

const FIELD_INPUTS = path.join(import.meta.dirname, '../../manifests/field-inputs.jsonl');
/** Of texts that only one of both accepts. */
const MAX_REFUSED_SHARE = 0.013;

/** What the inputs of test/cli/check lack: flow mappings, blocks, anchors, comments and several documents. */
const FLOW_AND_ANCHORS = readFileSync(path.join(import.meta.dirname, 'flow-and-anchors.yaml'), 'utf8');
const JSON_OBJECT = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { c: ['d', 1, true] } };
const fieldTexts = readFileSync(FIELD_INPUTS, 'utf8')
  .trim()
  .split('\n')
  .flatMap((line) => Object.values((JSON.parse(line) as { files: Record<string, unknown> }).files))
  .filter((content) => typeof content === 'string')
  .filter((_, index) => IS_LONG || index % 5 === 0);
const texts = [FLOW_AND_ANCHORS, JSON.stringify(JSON_OBJECT), JSON.stringify(JSON_OBJECT, null, 2), ...fieldTexts];

/** What people and their editors do to a line. */
const EDITS: readonly ((line: string) => string[])[] = [
  () => [],
  (line) => [line, line],
  (line) => [` ${line}`],
  (line) => [line.replace(/^ /, '')],
  (line) => [`\t${line.trimStart()}`],
  (line) => [`${line}\t`],
  (line) => [line, '\t'],
  (line) => [line, '\t# c'],
  (line) => [line, '', '# c'],
  (line) => [`${line}\r`],
  (line) => [`${line} # c`],
  (line) => [line.replace(': ', ':')],
  (line) => [line.replace(/"|'/, '')],
  (line) => [line.replace('- ', '-')],
  (line) => [line.replace(/: .*/, ': {{ .Values.a }}')],
  (line) => [line.replace(/: .*/, ': ${VALUE}')],
  (line) => [line.replace(/: .*/, ': @a')],
  (line) => [line.replace(/: .*/, ': a: b')],
  (line) => [line.replace(/: .*/, ': 0644')],
  (line) => [line.replace(/: .*/, ': yes')],
  (line) => [line.replace(/: .*/, ': *a')],
  (line) => [line.replace(/: .*/, ':')],
  (line) => [line, '---'],
  (line) => ['<<<<<<< HEAD', line],
];
const edited = texts.flatMap((text) => {
  const lines = text.split('\n');
  const copies = lines.flatMap((line, at) => EDITS.map((edit) => lines.toSpliced(at, 1, ...edit(line)).join('\n')));
  return [text, text.trimEnd(), text.replaceAll('\n', '\r\n'), `\uFEFF${text}`, ...copies];
});

function tryParse(text: string) {
  try {
    return parseStream(Buffer.from(text), 'a.yaml', createNodeBudget(1_000_000));
  } catch (error) {
    if (error instanceof FileError) return undefined;
    throw error;
  }
}

/** Whether this project refuses the text, and Go does. Objects without a kind are refused by another rule. */
function isRefused(ours: ReturnType<typeof tryParse>, go: GoReading) {
  return {
    ours: ours === undefined || [...ours.documents, ours.inCluster].some(({ error }) => error !== undefined),
    go: go.bootstrapError !== '' || (go.object === null && !go.clusterError.includes('Kind')),
  };
}

test('reads manifests, and those with one fault each, as the programs of the bootstrap host do', async () => {
  const readWithGo = await buildGoReaders();
  const inputs = [...new Set(edited)];
  const [refused, differing]: [string[], string[]] = [[], []];
  for (const [index, go] of (await readWithGo(inputs)).entries()) {
    const text = inputs[index] ?? '';
    const ours = tryParse(text);
    const by = isRefused(ours, go);
    if (by.ours !== by.go) refused.push(text);
    else if (ours !== undefined && !by.ours && !isDeepStrictEqual(toReading(ours), [go.documents ?? [], go.object]))
      differing.push(text);
  }
  // Go ignores what follows an indented first line, and reads lines of a tab in quotes. This project refuses both.
  expect({ refused: refused.slice(edited.length * MAX_REFUSED_SHARE), differing }).toEqual({
    refused: [],
    differing: [],
  });
});

function toReading({ documents, inCluster }: NonNullable<ReturnType<typeof tryParse>>) {
  const values = documents.map(({ value }) => value).filter((value) => value !== null);
  return JSON.parse(JSON.stringify([values, inCluster.value])) as unknown;
}
