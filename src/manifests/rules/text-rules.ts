import type { YamlError } from '../../files/yaml-document.ts';
import { findDifferentReading } from '../../files/yaml-stream.ts';
import type { ManifestObject, ManifestSet } from '../manifest-set.ts';
import { changesRenders, formatMiB } from '../render-inputs.ts';
import type { Finding, Message, Severity, TextRule } from './rule.ts';

/** assisted-service, internal/manifests/manifests.go. */
const MAX_ASSISTED_BYTES = 1024 ** 2;

/** Rules about files that no cluster gets, which the reader finds. All are warnings. */
export const FILE_RULES = {
  AgentIgnoresFile: {
    isLoss: true,
    message: 'the agent-based installer reads only openshift/*.yaml and openshift/*.yml',
    advice: 'move the file there, as YAML',
  },
  ButaneFile: {
    isLoss: true,
    message: 'Butane, which no installer reads',
    advice: 'run butane, and add the YAML that it writes',
  },
  DuplicateFileName: {
    isLoss: true,
    message: 'openshift/ has a file of this name: both readers get only that file',
    advice: 'rename one',
  },
  EarlyDirectory: {
    message: 'only the agent-based installer reads manifests now',
    advice: 'for others, first run create manifests',
  },
  IgnoredFile: {
    isLoss: true,
    message: 'no installer reads subdirectories and other endings than .yaml, .yml and .json',
    advice: 'move or rename it',
  },
  KustomizationFile: {
    message: 'input of kustomize, which no installer reads',
    advice: 'check what it writes: kustomize build DIR | machineconfig-guard check manifests -',
  },
  MisplacedManifest: {
    isLoss: true,
    message: 'no installer reads a manifest beside the folders',
    advice: 'move it into openshift/',
  },
} satisfies Readonly<Record<string, Message>>;

/** Rules about the text of a manifest. */
export const TEXT_RULES = {
  HiddenFile: {
    severity: 'error',
    find: ({ fileName }) => fileName.startsWith('.'),
    message: 'hidden: the cluster can get the objects, but the bootstrap host does not render them',
    advice: 'rename it',
  },
  Unparsable: {
    severity: 'error',
    find: ({ documents }) => documents.flatMap(({ error }) => (error === undefined ? [] : [toFinding(error)])),
    message: (detail) => `${detail}: the bootstrap host fails`,
    advice: 'repair it: YAML in UTF-8, JSON after {, only comments after ---',
  },
  UnparsableInCluster: {
    severity: 'error',
    find: ({ documents, inCluster: { error } }, set) =>
      error !== undefined && !set.splitsFiles && documents.every((document) => !document.error) && [toFinding(error)],
    message: (detail) => `${detail}: cluster-bootstrap reads JSON as YAML, and then rejects all manifests`,
    advice: 'write it as YAML',
  },
  EmptyDocument: {
    severity: 'error',
    find: ({ inCluster }, set) => inCluster.value === null && set.installer !== 'stream',
    message: 'the first document is empty: cluster-bootstrap rejects all manifests',
    advice: 'delete it (or --split)',
  },
  DuplicateKey: {
    severity: 'warning',
    isLoss: true,
    find: ({ documents }) =>
      documents.flatMap(({ duplicates }) => duplicates.map(({ key, line }) => ({ detail: key, line }))),
    message: (detail) => `${detail} is there twice: only the last one counts`,
    advice: 'delete one',
  },
  DifferentReading: {
    severity: ifRendered,
    find: (manifest, { installer }) => {
      const detail = installer === 'stream' ? undefined : findDifferentReading(manifest);
      return detail !== undefined && [{ detail, object: manifest.objects[0] }];
    },
    message: (detail) => `the bootstrap host and the cluster read other values of ${detail}`,
    advice: 'end every line with one line feed, and write each key once',
  },
  MultipleDocuments: {
    severity: (object, set) => (set.splitsFiles === undefined ? 'warning' : ifRendered(object, set)),
    find: ({ objects }, set) => {
      const [, ...others] = objects;
      const object = others.find((other) => changesRenders(other, set)) ?? others[0];
      return object !== undefined && set.splitsFiles !== true && [{ detail: String(objects.length), object }];
    },
    isLoss: true,
    message: (detail) => `${detail} documents: the bootstrap host reads all, the cluster gets only the first`,
    advice: 'write one per file (--split)',
  },
  AssistedSize: {
    severity: (_object, { installer }) => (installer === undefined ? 'warning' : 'error'),
    find: ({ content }, { installer }) =>
      content.length > MAX_ASSISTED_BYTES && installer !== 'stream' && formatMiB(content.length),
    message: (detail) => `${detail}: the Assisted and the agent-based installer take at most 1 MiB per file`,
    advice: 'make it smaller, or split it',
  },
} satisfies Readonly<Record<string, TextRule>>;

function toFinding({ message, line }: YamlError): Finding {
  return { detail: message, line };
}

/** A warning if the object changes no rendered config. */
function ifRendered(object: ManifestObject | undefined, set: ManifestSet): Severity {
  return object === undefined || changesRenders(object, set) ? 'error' : 'warning';
}
