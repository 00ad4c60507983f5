import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..', '..');

/** A file of the repository as text. */
export function readFile(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** All files and folders below a folder, by their paths in the repository. */
export function listFiles(folder: string): string[] {
  const names = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.map((name) => path.join(folder, name));
}

/** The first group of every match. */
export function findAll(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, group = '']) => group);
}

/** The cells of all table rows of a page, headings included. */
export function readTableRows(page: string): string[][] {
  const rows = findAll(readFile(page), /^\| (.*) \|$/gm);
  return rows.map((row) => row.split('|').map((cell) => cell.trim()));
}

/** A panel of OpenShift's console. */
export type Panel = Readonly<Record<'title' | 'type' | 'datasource', string>> & {
  readonly format?: string;
  readonly yaxes?: readonly { readonly format: string }[];
  readonly valueName?: string;
  readonly colors?: readonly string[];
  readonly thresholds?: string;
  readonly options?: {
    readonly fieldOptions: { readonly thresholds: readonly { readonly color: string; readonly value: number }[] };
  };
  readonly valueMaps?: readonly Readonly<Record<'value' | 'text', string>>[];
  readonly targets: readonly Readonly<Record<'expr' | 'legendFormat', string>>[];
};

/** The dashboard. Kustomize generates its object from the file. */
export interface Dashboard {
  readonly templating: { readonly list: readonly Readonly<Record<'name' | 'query' | 'type', string>>[] };
  readonly rows: readonly { readonly panels: readonly Panel[] }[];
}

export const DASHBOARD = 'manifests/overlays/dashboard/machineconfig-guard.json';

export function readDashboard(): Dashboard {
  return JSON.parse(readFile(DASHBOARD)) as Dashboard;
}

export function listPanels({ rows } = readDashboard()): readonly Panel[] {
  return rows.flatMap(({ panels }) => panels);
}
