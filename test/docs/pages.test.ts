import path from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { MODES } from '../../src/api/settings.ts';
import { buildManifests } from '../../src/install/kustomization.ts';
import { PROFILES } from '../../src/install/profiles.ts';
import { readPromises, splitTest, toPattern } from '../promises/promises.ts';
import { findAll, listFiles, readFile } from './pages.ts';

const DOCS = listFiles('docs').filter((file) => file.endsWith('.md'));
const PAGES = ['CHANGELOG.md', 'README.md', 'SECURITY.md', ...DOCS];
const FOLDERS = ['build', 'docs', 'manifests', 'src', 'test'];
const FILES = new Set([...PAGES, 'LICENSE', ...FOLDERS, ...FOLDERS.flatMap((folder) => listFiles(folder))]);

test.each(PAGES)('%s names files, headings and npm scripts that exist', (page) => {
  const links = findAll(readFile(page), /\]\((?!https?:)([^)]*)\)/g);
  const dead = links.filter((link) => {
    const [file, anchor] = link.split('#');
    const target = file ? path.join(path.dirname(page), file).replace(/\/$/, '') : page;
    return !FILES.has(target) || (anchor !== undefined && !listAnchors(target).includes(anchor));
  });
  expect(dead).toEqual([]);
  const files = findAll(readFile(page), /`((?:build|docs|manifests|src|test)\/[^`\s]*)`/g);
  const isFile = (file: string): boolean => FILES.has(file.replace(/\/$/, ''));
  expect(files.filter((file) => !isFile(file))).toEqual([]);
  const scripts = findAll(readFile(page), /npm run ([\w:-]*\w)/g);
  expect(scripts.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
});

/** The anchors that GitHub gives the headings of a page. */
function listAnchors(page: string): string[] {
  const headings = findAll(readFile(page).toLowerCase(), /^#+ (.+)$/gm);
  return headings.map((heading) => heading.replaceAll(/[^\w\- ]/g, '').replaceAll(' ', '-'));
}

test.each(readPromises())('a test proves: $promise', (promised) => {
  const { file, title } = splitTest(promised);
  // The titles of its tests are in a table of several files.
  const tables = file === 'test/install/rendered.test.ts' ? listFiles('test/install/relations') : [];
  const text = [file, ...tables].map(readFile).join('\n');
  expect(text.replaceAll("\\'", "'")).toMatch(new RegExp(`(['"\`])${toPattern(title)}\\1`));
});

test.for(listFiles('docs').filter((file) => file.endsWith('.yaml')))('%s is YAML with valid modes', (file) => {
  expect(parseAllDocuments(readFile(file)).flatMap(({ errors }) => errors)).toEqual([]);
  expect(MODES).toEqual(expect.arrayContaining(findAll(readFile(file), / mode: '?(\w*)/g)));
});

test('the role for Argo CD is for the kinds of the overlays, and no others', () => {
  interface Role {
    readonly rules?: readonly { readonly apiGroups: readonly string[]; readonly resources: readonly string[] }[];
  }
  const documents = parseAllDocuments(readFile('docs/fleet/argo-cd.yaml')).map((each) => each.toJS() as Role);
  const rules = documents.flatMap((document) => document.rules ?? []);
  const rights = rules.flatMap(({ apiGroups: [group], resources }) => resources.map((name) => `${group}/${name}`));
  const files = listFiles('manifests/overlays').join('\n');
  // The object of the dashboard is a ConfigMap, which only kustomize generates.
  const overlays = findAll(files, /^manifests\/(overlays\/(?!dashboard)[\w-]+)\/kustomization\.yaml$/gm);
  const kinds = buildManifests([...overlays, 'components/platform-alert']).map((manifest) => {
    const version = String(manifest.get('apiVersion'));
    const plural = `${String(manifest.get('kind')).toLowerCase()}s`.replace(/ys$/, 'ies');
    return `${version.includes('/') ? version.replace(/\/.*/, '') : ''}/${plural}`;
  });
  expect(new Set(rights)).toEqual(new Set([...kinds, '/configmaps', 'machineconfig-guard.io/machineconfigguards']));
});

test('the allowlist names metrics of docs/monitoring.md and of the alerts of the platform', () => {
  const allowlist = readFile('docs/fleet/metrics-allowlist.yaml');
  const own = findAll(allowlist, /\b(mcguard_\w+)$/gm);
  expect(own.length).toBeGreaterThan(0);
  expect(findAll(readFile('docs/monitoring.md'), /^\| `(\w+)`/gm)).toEqual(expect.arrayContaining(own));
  const alerts = readFile('manifests/components/platform-alert/alerting-rule.yaml');
  const ofApiServer = findAll(alerts, /\b(apiserver_\w+\{name="[^"]+")/g).map((text) => text.replace('{', '",'));
  expect(findAll(allowlist, /"(apiserver_.*)$/gm)).toEqual(expect.arrayContaining(ofApiServer));
});

test('remote bases name this version', () => {
  const pages = listFiles('docs').filter((file) => /\.(?:md|yaml)$/.test(file));
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

/** A heading may quote several texts, in which `…` stands for anything. */
const HEADINGS = findAll(readFile('docs/troubleshooting.md'), /^#+ (`.*`)$/gm);
/** Texts of the API server, of kubectl and of the machine-config-daemon, which this repository does not contain. */
const FOREIGN = /^(?:… (?:service|no endpoints|x509:|connect:|context) |no matches for kind |machineconfig\.)/;
const QUOTES = HEADINGS.flatMap((heading) => findAll(heading, /`([^`]+)`/g)).filter((text) => !FOREIGN.test(text));

const PRINTED_TEXTS = ['src', 'manifests', 'test/e2e']
  .flatMap((folder) => listFiles(folder))
  .filter((file) => /\.(?:ts|yaml)$/.test(file))
  .map((file) => toPrintedText(readFile(file)))
  .join('\n');

/** Replaces inserted values with an ellipsis, and joins strings that are split over lines. */
function toPrintedText(source: string): string {
  return source
    .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…')
    .replaceAll(/['`]\s*\+\s*['`]/g, '')
    .replaceAll(/\\(["'])/g, '$1');
}

test.each(QUOTES)('the program, a manifest or an API server prints "%s"', (quote) => {
  const parts = quote.replaceAll(/\b\d{3}\b/g, '…').split('…');
  const phrases = parts.map((part) => part.trim().replace(/:$/, '')).filter((part) => /[a-z]{4}/i.test(part));
  expect(phrases.length).toBeGreaterThan(0);
  expect(phrases.filter((phrase) => !PRINTED_TEXTS.includes(phrase))).toEqual([]);
});
