import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';

import { FileError } from '../../../src/files/file-error.ts';
import { parseStream } from '../../../src/files/yaml-stream.ts';
import { buildGoProgram } from '../support/programs.ts';
import { IS_LONG } from '../support/runner.ts';

const FIELD_INPUTS = path.join(import.meta.dirname, '../../cli/check/manifests/field-inputs.jsonl');
/** Of texts that only one of both accepts. */
const MAX_REFUSED_SHARE = 0.013;

/** What main.go prints. */
interface GoReading {
  readonly documents: readonly unknown[] | null;
  readonly object: unknown;
  readonly bootstrapError: string;
  readonly clusterError: string;
}

/** What the inputs of test/cli/check lack: flow mappings, blocks, anchors, comments and several documents. */
const FLOW_AND_ANCHORS = readFileSync(path.join(import.meta.dirname, 'flow-and-anchors.yaml'), 'utf8');
const JSON_OBJECT = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'x' },
  data: { a: 'b', c: ['d', 1, true] },
};
const fieldTexts = readFileSync(FIELD_INPUTS, 'utf8')
  .trim()
  .split('\n')
  .flatMap((line) => Object.values((JSON.parse(line) as { files: Record<string, unknown> }).files))
  .filter((content) => typeof content === 'string')
  .filter((_, index) => IS_LONG || index % 3 === 0);
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

const program = await buildGoProgram(path.join(import.meta.dirname, 'go-readers'));

/** What this project and Go read of the texts. */
function readBoth(inputs: readonly string[]) {
  const input = inputs.map((text) => `${Buffer.from(text).toString('base64')}\n`).join('');
  const output = execFileSync(program, { input, encoding: 'utf8', maxBuffer: 1024 ** 3 })
    .trimEnd()
    .split('\n');
  expect(output).toHaveLength(inputs.length);
  return inputs.map((text, index) => ({
    text,
    ours: tryParse(text),
    go: JSON.parse(output[index] ?? '') as GoReading,
  }));
}

function tryParse(text: string) {
  try {
    return parseStream(Buffer.from(text), 'a.yaml', { nodesLeft: 1_000_000 });
  } catch (error) {
    if (error instanceof FileError) return undefined;
    throw error;
  }
}

test('reads manifests, and those with one fault each, as the programs of the bootstrap host do', () => {
  const [refused, differing]: [string[], string[]] = [[], []];
  for (const { text, ours, go } of readBoth([...new Set(edited)])) {
    const error = [...(ours?.documents ?? []), ours?.inCluster].find((document) => document?.error)?.error;
    const isRefused = ours === undefined || error !== undefined;
    // Objects without a kind are refused by another rule.
    const isRefusedByGo = go.bootstrapError !== '' || (go.object === null && !/Kind/.test(go.clusterError));
    if (isRefused !== isRefusedByGo) refused.push(`${error?.message}: ${text}`);
    else if (
      !isRefused &&
      !isDeepStrictEqual(JSON.parse(JSON.stringify(toReading(ours))), [go.documents ?? [], go.object])
    )
      differing.push(text);
  }
  // Go ignores what follows an indented first line, and reads lines of a tab in quotes. This project refuses both.
  expect({ refused: refused.slice(edited.length * MAX_REFUSED_SHARE), differing }).toEqual({
    refused: [],
    differing: [],
  });
});

function toReading({ documents, inCluster }: NonNullable<ReturnType<typeof tryParse>>) {
  return [documents.map(({ value }) => value).filter((value) => value !== null), inCluster.value];
}
