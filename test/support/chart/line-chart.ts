import { label, LINE, MARGIN, picture, px, SERIES, stroke, widthOf } from './drawing.ts';
import { type Axis, plain, type Scale, scaleOf } from './scale.ts';

/** One line. Where several have the same place in their panels, they have the same colour. */
export interface Line {
  readonly name: string;
  /** In ascending order of x. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Lines that share an axis. */
export interface Panel {
  readonly y: Axis;
  readonly lines: readonly Line[];
}

/** Quantities over the same x: panels, one below the other, each with its own unit. */
export interface LineChart {
  readonly title: string;
  readonly x: Axis;
  readonly panels: readonly Panel[];
  /** A part of x that is shaded, and why. */
  readonly shaded?: { readonly from: number; readonly to: number; readonly why: string };
}

const PLOT = { width: 680, height: 120 };

/** Draws it as an SVG. The same chart is the same text. Throws where there is nothing to draw. */
export function lineChart({ title, x, panels, shaded }: LineChart): string {
  const across = scaleOf(
    x,
    panels.flatMap(({ lines }) => lines.flatMap(({ points }) => points.map(([at]) => at))),
  );
  const scales = panels.map(({ y, lines }) =>
    scaleOf(
      y,
      lines.flatMap(({ points }) => points.map(([, value]) => value)),
    ),
  );
  const left = MARGIN + Math.max(...scales.flatMap(({ ticks }) => ticks.map((tick) => widthOf(plain(tick))))) + 8;
  const body: string[] = [];
  let top = MARGIN + 1.5 * LINE;
  for (const [index, panel] of panels.entries()) {
    const scale = scales[index] as Scale;
    top += LINE;
    body.push(...heading(panel, left, top - 8));
    if (shaded !== undefined) body.push(shade(shaded, across, left, top));
    body.push(...grid(across, scale, left, top));
    for (const [series, line] of panel.lines.entries()) {
      const at = ([xValue, yValue]: Line['points'][number]): string =>
        `${px(left + across.share(xValue) * PLOT.width)},${px(top + (1 - scale.share(yValue)) * PLOT.height)}`;
      body.push(`<polyline class="line${series % SERIES}" points="${line.points.map(at).join(' ')}"/>`);
    }
    top += PLOT.height + LINE;
  }
  const marked = shaded === undefined ? x.label : `${x.label}; shaded: ${shaded.why}`;
  body.push(
    ...across.ticks.map((tick) => label(left + across.share(tick) * PLOT.width, top, plain(tick), 'quiet middle')),
    label(left + PLOT.width / 2, top + LINE, marked, 'middle'),
  );
  return picture(title, left + PLOT.width + 2 * MARGIN, top + LINE + MARGIN, body);
}

/** What the axis measures and, where there are several lines, which is which. */
function heading({ y, lines }: Panel, left: number, base: number): string[] {
  const parts = [label(left, base, y.log === true ? `${y.label} (logarithmic)` : y.label)];
  if (lines.length < 2) return parts;
  let right = left + PLOT.width;
  for (const [series, { name }] of [...lines.entries()].toReversed()) {
    parts.push(label(right, base, name, 'quiet end'));
    right -= widthOf(name) + 6;
    parts.push(stroke(right - 22, base - 4, right, base - 4, `line${series % SERIES}`));
    right -= 22 + 14;
  }
  return parts;
}

function shade({ from, to }: { readonly from: number; readonly to: number }, across: Scale, left: number, top: number) {
  const [begin, end] = [across.share(from), across.share(to)].map(
    (share) => Math.min(1, Math.max(0, share)) * PLOT.width,
  );
  return `<rect x="${px(left + (begin ?? 0))}" y="${px(top)}" width="${px((end ?? 0) - (begin ?? 0))}" height="${PLOT.height}" class="shade"/>`;
}

function grid(across: Scale, scale: Scale, left: number, top: number): string[] {
  return [
    ...scale.ticks.flatMap((tick) => {
      const y = top + (1 - scale.share(tick)) * PLOT.height;
      return [stroke(left, y, left + PLOT.width, y, 'grid'), label(left - 6, y + 4, plain(tick), 'quiet end')];
    }),
    ...across.ticks.map((tick) => {
      const x = left + across.share(tick) * PLOT.width;
      return stroke(x, top + PLOT.height, x, top + PLOT.height + 4, 'grid');
    }),
  ];
}
