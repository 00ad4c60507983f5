/** How many kinds of lines or bars can be told apart. */
export const SERIES = 5;
/** Height of a line of text. */
export const LINE = 18;
/** Between the edge and everything else. */
export const MARGIN = 16;

/** About as wide as a character of the text is on average; it is not measured, so that charts are drawn without a browser. */
const CHARACTER = 6.6;

/** Colours that hold a contrast of 4.5 on their background and that people who do not see all colours can tell apart. */
const LIGHT = ['#0b62a8', '#b54708', '#15702f', '#8e3a9d', '#57606a'];
const DARK = ['#6cb6ff', '#f0a15e', '#56d364', '#d8a3f0', '#9aa4af'];
/** And not by colour alone. */
const DASHES = ['none', '7 3', '2 2', '9 3 2 3', '4 4'];

const STYLE = [
  `text{font:12px system-ui,-apple-system,'Segoe UI','Liberation Sans',Arial,sans-serif;fill:#1f2328}`,
  `.title{font-weight:600;font-size:14px}.quiet{fill:#59636e}.end{text-anchor:end}.middle{text-anchor:middle}`,
  `.page{fill:#ffffff;stroke:#d1d9e0}.grid{stroke:#d1d9e0;stroke-width:1}.whisker{stroke:#59636e;stroke-width:1.5}.shade{fill:#818b98;fill-opacity:.14}`,
  ...LIGHT.map(
    (colour, index) =>
      `.line${index}{fill:none;stroke:${colour};stroke-width:1.6;stroke-linejoin:round;stroke-dasharray:${DASHES[index]}}.bar${index}{fill:${colour}}`,
  ),
  `@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}.page{fill:#0d1117;stroke:#3d444d}.grid{stroke:#2f363d}.whisker{stroke:#9198a1}`,
  ...DARK.map((colour, index) => `.line${index}{stroke:${colour}}.bar${index}{fill:${colour}}`),
  '}',
].join('\n');

/** A number as an SVG has it: to a tenth of a pixel, the same on every machine. */
export function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** About how wide a text will be. */
export function widthOf(text: string): number {
  return text.length * CHARACTER;
}

/** Text at a place, of these classes: `title`, `quiet`, `end` and `middle` for where in it the place is. */
export function label(x: number, y: number, text: string, classes = ''): string {
  return `<text x="${px(x)}" y="${px(y)}"${classes === '' ? '' : ` class="${classes}"`}>${escaped(text)}</text>`;
}

/** A straight line of this class. */
export function stroke(x1: number, y1: number, x2: number, y2: number, of: string): string {
  return `<line x1="${px(x1)}" y1="${px(y1)}" x2="${px(x2)}" y2="${px(y2)}" class="${of}"/>`;
}

/** The whole picture: light or dark as whoever looks at it likes it. */
export function picture(title: string, width: number, height: number, body: readonly string[]): string {
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect x="0.5" y="0.5" width="${w - 1}" height="${h - 1}" rx="8" class="page"/>`,
    label(MARGIN, MARGIN + 12, title, 'title'),
    ...body,
    '</svg>',
    '',
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
