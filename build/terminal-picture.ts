const LINE_HEIGHT = 19;
const CHARACTER_WIDTH = 8.4;
const MARGIN = 20;

/** The classes that SGR codes (ECMA-48) start. */
const STARTED_CLASS: Readonly<Record<string, string>> = { 1: 'bold', 31: 'red', 35: 'magenta' };
/** The classes that SGR codes end. */
const ENDED_CLASSES: Readonly<Record<string, readonly string[]>> = {
  22: ['bold'],
  39: ['red', 'magenta'],
};

const STYLE = `
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328;white-space:pre}
rect{fill:#f6f8fa;stroke:#d1d9e0}
.bold{font-weight:bold}.red{fill:#c21c2c}.magenta{fill:#8f2f9f}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#0d1117;stroke:#3d444d}
.red{fill:#ff7b72}.magenta{fill:#e2a5f0}}
`.trim();

const ESCAPE = '\u001B';
const ESCAPE_SEQUENCE = new RegExp(`${ESCAPE}\\[(?<code>\\d+)m`, 'g');

/** Draws colored terminal output as an SVG with a light and a dark color scheme. */
export function terminalPicture(output: string): string {
  const lines = output.split('\n');
  const classes = new Set<string>();
  const rows = lines.map((line, index) => {
    const y = MARGIN + LINE_HEIGHT * (index + 0.75);
    return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${drawSpans(line, classes)}</text>`;
  });
  const columns = Math.max(...lines.map((line) => line.replaceAll(ESCAPE_SEQUENCE, '').length));
  const width = Math.ceil(columns * CHARACTER_WIDTH) + 2 * MARGIN;
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN;
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    `<style>${STYLE}</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...rows.filter((row) => !row.endsWith('"preserve"></text>')),
    '</svg>',
    '',
  ].join('\n');
}

/** Draws a line. `classes` are the active classes. They stay active in the next line. */
function drawSpans(line: string, classes: Set<string>): string {
  // The odd parts are the codes.
  const parts = line.split(ESCAPE_SEQUENCE).map((part, index) => {
    if (index % 2 === 0) return drawSpan(part, classes);
    const startedClass = STARTED_CLASS[part];
    if (startedClass !== undefined) classes.add(startedClass);
    for (const endedClass of ENDED_CLASSES[part] ?? []) classes.delete(endedClass);
    return '';
  });
  return parts.join('');
}

function drawSpan(text: string, classes: ReadonlySet<string>): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return text === '' || classes.size === 0 ? escaped : `<tspan class="${[...classes].join(' ')}">${escaped}</tspan>`;
}
