import { expect, test } from 'vitest';
import { formatReleaseNotes } from '../../../build/release/release-notes.ts';

const TAG = 'https://github.com/machineconfig-guard/machineconfig-guard/blob/v1.2.0';
const CHANGELOG = `# Changelog
## Unreleased
- Soon.
## 1.2.0 - 2026-11-23
### Added

- A [page](docs/install.md), not [this](https://example.com) or [this](#added).
## 1.1.0
- Old.
`;

test('takes the section of the version, and its links lead to the files of the tag', () => {
  expect(formatReleaseNotes(CHANGELOG, '1.2.0')).toEqual({
    notes: `### Added\n\n- A [page](${TAG}/docs/install.md), not [this](https://example.com) or [this](#added).\n`,
    warnings: [],
  });
});

test('takes the unreleased changes and warns if the version has no section', () => {
  expect(formatReleaseNotes(CHANGELOG, '1.3.0')).toEqual({
    notes: '- Soon.\n',
    warnings: ['CHANGELOG.md has no section 1.3.0: the release notes are those of Unreleased'],
  });
});

test.each(['# Changelog\n', '# Changelog\n\n## Unreleased\n'])('fails without changes: %j', (changelog) => {
  expect(() => formatReleaseNotes(changelog, '1.3.0')).toThrow('CHANGELOG.md has no section 1.3.0');
});
