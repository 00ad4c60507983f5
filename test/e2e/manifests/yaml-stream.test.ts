import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { FileError } from '../../../src/files/file-error.ts';
import { parseStream } from '../../../src/files/yaml-stream.ts';
import { buildGoProgram } from '../support/go-program.ts';
import { IS_LONG } from '../support/runner.ts';

const FIELD_INPUTS = path.join(import.meta.dirname, '../../cli/check/manifests/field-inputs.jsonl');
const TEXTS = IS_LONG ? 20_000 : 3_000;
/** Fixed, so that a failure repeats. */
const SEED = 20_261_124;

/** What main.go prints. */
interface GoReading {
  readonly documents: readonly unknown[] | null;
  readonly object: unknown;
  readonly bootstrapError: string;
  readonly clusterError: string;
}

const FLOW = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: 99-master-a, labels: {machineconfiguration.openshift.io/role: master}, annotations: {"a": 'b', c: d}}
spec:
  kernelArguments: [nosmt, "a=1", 'b']
  config:
    ignition: {version: 3.4.0}
    systemd:
      units:
        - name: a.service
          enabled: true
          contents: |
            [Unit]
            Description=a

            [Service]
            ExecStart=/bin/sh -c "echo a"
        - name: b.service
          contents: >-
            [Unit]
             x
            # no comment
        - {name: c, mask: yes}
    storage:
      files:
      - path: /etc/a   # comment
        mode: 0644
        contents: {source: "data:,a%20b"}
      -
        path: /etc/b
        contents:
          source: data:text/plain;charset=utf-8;base64,YQ==
`;
const ANCHORS = `# a comment
---
x-labels: &l
  machineconfiguration.openshift.io/role: worker
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: "99-worker-x"
  labels:
    <<: *l
  annotations: {a: !!str 12, b: "a \\u00e9\\
    b"}
spec:
  osImageURL: 'it''s'
---
# other
apiVersion: v1
kind: ConfigMap
metadata: {name: x, namespace: default}
data:
  a: plain
    text over
    lines
  b: |2-
      x
  ? c
  : d
...
`;
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
  .filter((content) => typeof content === 'string');
const texts = [FLOW, ANCHORS, JSON.stringify(JSON_OBJECT), JSON.stringify(JSON_OBJECT, null, 2), ...fieldTexts];

/** Each is one mutation. `\n` separates them, because they are parts of lines. */
const CHARACTERS = Array.from('\t \n:-#"\'{}[],&*!|>%@`\\?=~.0a/$<\u00A0\u2028\u0085\uFEFF\0\r😀\u007F').concat([
  ': ',
  '- ',
  ' #',
  '\n\n',
  '  ',
  '\r\n',
]);
const SNIPPETS =
  `--- a|...|<<: *l|!!binary YQ==|!!int |!!float a|!x |&a |*a |*l|0644|.nan|~|%YAML 1.1|? |> |2001-01-01|1e3|0x1f|yes
null|1_000|{{ a }}|\${A}|<x>|# c|\t# c|\t|- a|a: b|  a: b|"a": b|{a: b}|[a, b]|"\\ud83d\\ude00"|\\/|18446744073709551616
-0|1:30|---|+1|0o7|0b1|.5|1.|.inf|=|!!str |!!null |!<tag:yaml.org,2002:str> |&a *a|"a\\|'a`
    .split(/[|\n]/)
    .concat('| ', '|-\n', '---\n', '...\n', '# c\n');
type Mutate = (text: string, at: number, lines: string[], line: number, snippet: string, character: string) => string;
const MUTATIONS: readonly Mutate[] = [
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  ...[0, 0, 0, 1, 1].map((length): Mutate => (text, at, _lines, _line, _snippet, character) => {
    return text.slice(0, at) + character + text.slice(at + length);
  }),
  (text, at, _lines, _line, snippet) => text.slice(0, at) + snippet + text.slice(at),
  (text, at) => text.slice(0, at),
  (text, at, _lines, _line, _snippet, character) => text.slice(0, at) + text.slice(at).replace('\n', character),
  (_text, _at, lines, line) => lines.toSpliced(line, 1).join('\n'),
  (_text, _at, lines, line) => lines.toSpliced(line, 0, lines[line] ?? '').join('\n'),
  (_text, at, lines, line) => {
    const [other = ''] = lines.splice(at % lines.length, 1);
    return lines.toSpliced(line, 0, other).join('\n');
  },
  (_text, _at, lines, line, snippet) => lines.toSpliced(line, 0, snippet).join('\n'),
  (_text, at, lines, line) => lines.with(line, ' '.repeat((at % 4) + 1) + lines[line]).join('\n'),
  (_text, _at, lines, line) => lines.with(line, `\t${lines[line]}`).join('\n'),
  (_text, _at, lines, line) => lines.with(line, (lines[line] ?? '').replace(/^ {1,2}/, '')).join('\n'),
  (_text, _at, lines, line, snippet) => {
    return lines
      .with(
        line,
        (lines[line] ?? '').replace(/^(\s*(?:- )?[^:]+: ?)?.*$/, (_all, key = '') => key + snippet),
      )
      .join('\n');
  },
];

const mutated = fc
  .tuple(
    fc.constantFrom(...texts),
    fc.constantFrom(...MUTATIONS),
    fc.nat(),
    fc.nat(),
    fc.constantFrom(...SNIPPETS),
    fc.constantFrom(...CHARACTERS),
  )
  .map(([text, mutate, at, line, snippet, character]) => {
    const lines = text.split('\n');
    return mutate(text, at % (text.length + 1), lines, line % lines.length, snippet, character);
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

test('reads manifests with one mutation each as the programs of the bootstrap host do', () => {
  const [refused, differing]: [string[], string[]] = [[], []];
  for (const { text, ours, go } of readBoth(fc.sample(mutated, { numRuns: TEXTS, seed: SEED }))) {
    const isRefused = ours === undefined || ours.documents.some(({ error }) => error) || Boolean(ours.inCluster.error);
    // Objects without a kind are refused by another rule.
    const isRefusedByGo = go.bootstrapError !== '' || (go.object === null && !/Kind/.test(go.clusterError));
    if (isRefused !== isRefusedByGo) refused.push(text);
    else if (
      !isRefused &&
      !isDeepStrictEqual(JSON.parse(JSON.stringify(toReading(ours))), [go.documents ?? [], go.object])
    )
      differing.push(text);
  }
  expect({ refused, differing }).toEqual({ refused: [], differing: [] });
});

function toReading({ documents, inCluster }: NonNullable<ReturnType<typeof tryParse>>) {
  return [documents.map(({ value }) => value).filter((value) => value !== null), inCluster.value];
}
