const LINE = 19;
const CHARACTER = 8.4;
const MARGIN = 20;

/** SGR codes that the program uses (ECMA-48), and the class that draws them. */
const BEGINS: Readonly<Record<string, string>> = { 1: 'bold', 2: 'dim', 31: 'red', 32: 'green', 33: 'yellow' };
/** Codes that end them. */
const ENDS: Readonly<Record<string, readonly string[]>> = { 22: ['bold', 'dim'], 39: ['red', 'green', 'yellow'] };

const STYLE = `
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328;white-space:pre}
rect{fill:#f6f8fa;stroke:#d1d9e0}
.bold{font-weight:bold}.dim{fill:#656d76}.red{fill:#c21c2c}.green{fill:#15702f}.yellow{fill:#8a5a00}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#0d1117;stroke:#3d444d}
.dim{fill:#8b949e}.red{fill:#ff7b72}.green{fill:#56d364}.yellow{fill:#e3b341}}
`.trim();

/** A terminal's text with colours as an SVG: every character in its column, light or dark as whoever looks at it likes it. */
export function terminalPicture(output: string): string {
  const lines = output.split('\n');
  const classes = new Set<string>();
  const rows = lines.map((line, index) => {
    const y = MARGIN + LINE * (index + 0.75);
    return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${spans(line, classes)}</text>`;
  });
  const columns = Math.max(...lines.map((line) => line.replaceAll(ESCAPE, '').length));
  const [width, height] = [Math.ceil(columns * CHARACTER) + 2 * MARGIN, lines.length * LINE + 2 * MARGIN];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<style>${STYLE}</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...rows.filter((row) => !row.endsWith('"preserve"></text>')),
    '</svg>',
    '',
  ].join('\n');
}

// oxlint-disable-next-line no-control-regex -- an escape character is what is looked for
const ESCAPE = /\u001B\[(?<code>\d+)m/g;

/** The texts of a line, each with the classes in force. They go on into the next line until they are ended. */
function spans(line: string, classes: Set<string>): string {
  const parts: string[] = [];
  let from = 0;
  const add = (text: string): void => {
    if (text === '') return;
    const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    parts.push(classes.size === 0 ? escaped : `<tspan class="${[...classes].join(' ')}">${escaped}</tspan>`);
  };
  for (const match of line.matchAll(ESCAPE)) {
    add(line.slice(from, match.index));
    from = match.index + match[0].length;
    const code = match.groups?.['code'] ?? '';
    const begun = BEGINS[code];
    if (begun !== undefined) classes.add(begun);
    for (const ended of ENDS[code] ?? []) classes.delete(ended);
  }
  add(line.slice(from));
  return parts.join('');
}
