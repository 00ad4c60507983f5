import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { MODES } from '../../src/decision/settings.ts';
import { PROFILES } from '../../src/install/profiles.ts';
import { findAll, listFiles, readFile } from './pages.ts';

test.for(findAll(listFiles('docs').join('\n'), /^(.*\.yaml)$/gm))('%s is YAML with valid modes', (file) => {
  expect(parseAllDocuments(readFile(file)).flatMap(({ errors }) => errors)).toEqual([]);
  expect(MODES).toEqual(expect.arrayContaining(findAll(readFile(file), / mode: '?(\w*)/g)));
});

test('the allowlist names metrics of docs/monitoring.md and of the alerts of the platform', () => {
  const { data } = parse(readFile('docs/fleet/metrics-allowlist.yaml')) as { data: Record<string, string> };
  const { matches } = parse(data['metrics_list.yaml'] ?? '') as { readonly matches: readonly string[] };
  const { names } = parse(data['uwl_metrics_list.yaml'] ?? '') as { readonly names: readonly string[] };
  const documented = findAll(readFile('docs/monitoring.md'), /^\| `(\w+)`/gm);
  expect(names.filter((name) => !documented.includes(name))).toEqual([]);
  const alerts = readFile('manifests/components/platform-alert/alerting-rule.yaml');
  const apiServerMetrics = new Set(findAll(alerts, /\b(apiserver_\w+)\{/g));
  const matched = findAll(matches.join('\n'), /__name__="(\w+)"/g);
  expect(matched).toEqual(expect.arrayContaining([...apiServerMetrics]));
  expect(findAll(matches.join('\n'), /,name="([^"]*)"/g)).toEqual(findAll(alerts, /name="(guard[^"]*)"/g).slice(0, 2));
});

test('remote bases name this version', () => {
  const pages = findAll(listFiles('docs').join('\n'), /^(.*\.(?:md|yaml))$/gm);
  const versions = pages.flatMap((page) => findAll(readFile(page), /github\.com\/\S+\/manifests\/[^\s?]+(\S*)/g));
  expect(versions.length).toBeGreaterThan(1);
  expect(new Set(versions)).toEqual(new Set([`?ref=v${packageJson.version}`]));
});

test('docs/install.md names every overlay, and every profile without one', () => {
  const overlays = findAll(listFiles('manifests/overlays').join('\n'), /^manifests\/overlays\/([^/\n]+)$/gm);
  const profiles = PROFILES.filter((profile) => !['fail-closed', 'platform-alert'].includes(profile));
  const named = findAll(readFile('docs/install.md'), /^\| `([a-z][a-z-]*)` \|/gm);
  expect(named.toSorted()).toEqual([...new Set([...overlays, ...profiles])].toSorted());
});
