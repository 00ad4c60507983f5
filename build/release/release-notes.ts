export const REPOSITORY_URL = 'https://github.com/machineconfig-guard/machineconfig-guard';
/** A link to a file of the repository. */
const RELATIVE_LINK = /\]\((?!https?:|#)/g;

export interface ReleaseNotes {
  readonly notes: string;
  readonly warnings: readonly string[];
}

/**
 * Takes the section of a version out of the changelog. Its links then lead to the files of the tag. Without such a
 * section it takes the unreleased changes and warns, so that a release can be tried before its version is final.
 * @throws Error if there is neither
 */
export function formatReleaseNotes(changelog: string, version: string): ReleaseNotes {
  const sections = new Map(
    changelog
      .split(/^## /m)
      .slice(1)
      .map((section) => [/^\[?([^\]\s]+)/.exec(section)?.[1] ?? '', section.replace(/^.*\n+/, '').trimEnd()]),
  );
  const section = sections.get(version) ?? sections.get('Unreleased');
  if (!section) throw new Error(`CHANGELOG.md has no section ${version}`);
  const notes = section.replaceAll(RELATIVE_LINK, `](${REPOSITORY_URL}/blob/v${version}/`);
  const warning = `CHANGELOG.md has no section ${version}: the release notes are those of Unreleased`;
  return { notes: `${notes}\n`, warnings: sections.has(version) ? [] : [warning] };
}
