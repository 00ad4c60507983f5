import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';

import { acceptHeaderForList, acceptHeaderForStreamedList } from '../../../src/kube/resource.ts';
import type { ApiObject } from '../../../src/kube/api-object.ts';
import { KubeApi } from '../../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../../src/kube/connection.ts';
import { JsonListParser } from '../../../src/kube/lists/json-list-parser.ts';
import type { ListParser } from '../../../src/kube/lists/list-parser.ts';
import { ProtobufListParser } from '../../../src/kube/lists/protobuf-list-parser.ts';
import { NODE_REFERENCE_ANNOTATIONS, parseNodeReferrer } from '../../../src/references/parse-referrer.ts';
import { GuardedCluster } from '../../e2e/support/guarded-cluster.ts';
import { machineConfig, renderedName } from '../../e2e/support/objects.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { Bench, BenchContext, Table } from '../bench.ts';
import { goalTable } from '../goals.ts';
import { type Contestant, interleave } from '../interleave.ts';
import { createFleet, nodeSizes } from '../nodes.ts';
import { summary, summaryColumns } from '../percentiles.ts';

const FULL = [
  { nodes: 5, rounds: 200 },
  { nodes: 500, rounds: 100 },
  { nodes: 2_000, rounds: 50 },
  { nodes: 5_000, rounds: 30 },
] as const;
const QUICK = [{ nodes: 50, rounds: 10 }] as const;

const RAW = 'JSON, bytes only';
const DELETION = 'dry-run DELETE, allowed by the guard';

const bench: Bench = {
  question:
    'What does it cost to know afresh which configs the nodes name, and what of it does a deletion pay that is allowed?',
  run,
};
export default bench;

async function run({ quick, binaries, log }: BenchContext): Promise<readonly Table[]> {
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const { admin } = guarded.controlPlane.apiServer;
    const api = new KubeApi(connectionFromKubeconfig(await readFile(guarded.kubeconfig, 'utf8')));
    const free = renderedName();
    await admin.create(PATHS.configs, machineConfig({ name: free }));
    const used = renderedName();
    await admin.create(PATHS.configs, machineConfig({ name: used }));
    const rows: Table['rows'][number][] = [];
    let made = 0;
    for (const { nodes, rounds } of quick ? QUICK : FULL) {
      log(`${nodes} nodes are made …`);
      await createFleet(admin, {
        from: made,
        to: nodes,
        configsOf: () => ({ currentConfig: used, desiredConfig: used }),
      });
      made = nodes;
      log(`${nodes} nodes: ${rounds} rounds …`);
      const deletion: Contestant = {
        name: DELETION,
        once: async () => {
          const { status, ms } = await admin.delete(`${PATHS.configs}/${free}`, { dryRun: 'All' });
          if (status !== 200) throw new Error(`The deletion of a free config was answered ${status}.`);
          return ms;
        },
      };
      const measured = await interleave([...readers(api, used, nodes), deletion], { rounds, warmUp: 5 });
      const raw = summary(measured.get(RAW) ?? []).p50;
      for (const [how, times] of measured) {
        const figures = summary(times);
        rows.push({ nodes, how, ...figures, timesRaw: figures.p50 / raw });
      }
    }
    api.close();
    return [table(rows, await nodeSizes(admin)), goals(rows)];
  } finally {
    await guarded.stop();
  }
}

/** Ways to find out; each is checked to have found all nodes. */
function readers(api: KubeApi, used: string, nodes: number): readonly Contestant[] {
  const expect = (found: number) => {
    if (found !== nodes) throw new Error(`${found} nodes were found instead of ${nodes}.`);
  };
  const read = async (accept: string) =>
    (await api.request({ path: PATHS.nodes, accept, signal: AbortSignal.timeout(30_000) })).body;
  const streamed = async (accept: string, readerFor: (keep: (object: ApiObject) => void) => ListParser) => {
    let found = 0;
    const reader = readerFor((object) => {
      found += parseNodeReferrer(object).references.some(({ config }) => config === used) ? 1 : 0;
    });
    for await (const chunk of (await read(accept)) as AsyncIterable<Buffer>) reader.write(chunk);
    reader.end();
    expect(found);
  };
  return [
    {
      name: RAW,
      once: timed(async () => {
        for await (const chunk of (await read(acceptHeaderForList(true))) as AsyncIterable<Buffer>) void chunk;
      }),
    },
    {
      name: 'JSON, JSON.parse of it all',
      once: timed(async () => {
        const list = JSON.parse((await buffer(await read(acceptHeaderForList(true)))).toString('utf8')) as {
          items: ApiObject[];
        };
        expect(list.items.filter((item) => parseNodeReferrer(item).references.length > 0).length);
      }),
    },
    {
      name: 'JSON, taken apart as it streams',
      once: timed(() =>
        streamed(acceptHeaderForList(true), (keep) => new JsonListParser((item) => keep(item as ApiObject))),
      ),
    },
    {
      name: 'protobuf, bytes only',
      once: timed(async () => {
        for await (const chunk of (await read(acceptHeaderForStreamedList(true))) as AsyncIterable<Buffer>) void chunk;
      }),
    },
    {
      name: 'protobuf, searched for one name',
      once: timed(async () => {
        const name = Buffer.from(used);
        let last: Buffer = Buffer.alloc(0);
        let found = false;
        for await (const chunk of (await read(acceptHeaderForStreamedList(true))) as AsyncIterable<Buffer>) {
          const bytes = Buffer.concat([last, chunk]);
          found ||= bytes.includes(name);
          last = bytes.subarray(Math.max(0, bytes.length - name.length));
        }
        if (!found) throw new Error('The name was not found.');
      }),
    },
    {
      name: 'protobuf, taken apart as it streams (the guard)',
      once: timed(() =>
        streamed(acceptHeaderForStreamedList(true), (keep) => new ProtobufListParser(keep, NODE_REFERENCE_ANNOTATIONS)),
      ),
    },
  ];
}

function timed(once: () => Promise<void>): () => Promise<number> {
  return async () => {
    const begun = performance.now();
    await once();
    return performance.now() - begun;
  };
}

function goals(rows: Table['rows']): Table {
  const deletions = rows.filter(({ nodes, how }) => how === DELETION && Number(nodes) >= 2_000);
  return goalTable(
    'An allowed deletion against what was wanted',
    deletions.map(({ nodes, timesRaw }) => ({
      what: `${nodes} nodes: a deletion that is allowed, p50 × one list of the nodes in JSON, bytes only`,
      found: Number(timesRaw),
      atMost: 0.7,
    })),
  );
}

function table(rows: Table['rows'], sizes: { readonly full: number; readonly metadata: number }): Table {
  return {
    title: 'A consistent metadata-only list of all nodes, milliseconds',
    columns: [
      { key: 'nodes', heading: 'nodes' },
      { key: 'how', heading: 'how' },
      ...summaryColumns(1),
      { key: 'timesRaw', heading: `p50 × ${RAW}`, digits: 2 },
    ],
    rows,
    notes: [
      'One client on kept connections; all ways are measured in turn.',
      `A node has ${(sizes.full / 1_000).toFixed(1)} kB of JSON, ${(sizes.metadata / 1_000).toFixed(1)} kB of it metadata.`,
      'The deletion goes through the API server and the guard, which lists pools and builds as well.',
    ],
  };
}
