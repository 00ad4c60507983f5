import { label, LINE, MARGIN, picture, px, SERIES, stroke, widthOf } from './drawing.ts';
import { type Axis, plain, scaleOf } from './scale.ts';

/** One horizontal bar. Bars of the same label have the same colour in every group. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** A thin line goes on to here: a high percentile, say. */
  readonly reach?: number;
}

/** Bars that belong together. */
export interface BarGroup {
  readonly heading: string;
  readonly bars: readonly Bar[];
}

export interface BarChart {
  readonly title: string;
  readonly x: Axis;
  readonly groups: readonly BarGroup[];
}

const PLOT_WIDTH = 460;
const BAR = 12;

/** Draws it as an SVG, each bar with its value. The same chart is the same text. Throws where there is nothing to draw. */
export function barChart({ title, x, groups }: BarChart): string {
  const bars = groups.flatMap((group) => group.bars);
  const scale = scaleOf(
    x,
    bars.flatMap(({ value, reach }) => (reach === undefined ? [value] : [value, reach])),
  );
  const labels = [...new Set(bars.map((bar) => bar.label))];
  const left = MARGIN + Math.max(...labels.map(widthOf)) + 10;
  const at = (value: number): number => left + scale.share(value) * PLOT_WIDTH;
  const body: string[] = [];
  const top = MARGIN + 1.5 * LINE;
  let y = top;
  for (const { heading, bars: ofGroup } of groups) {
    y += LINE;
    body.push(label(MARGIN, y, heading));
    for (const bar of ofGroup) {
      y += LINE;
      const end = at(bar.value);
      const reach = at(bar.reach ?? bar.value);
      const series = labels.indexOf(bar.label) % SERIES;
      body.push(
        label(left - 8, y, bar.label, 'quiet end'),
        `<rect x="${px(left)}" y="${px(y - BAR + 2)}" width="${px(end - left)}" height="${BAR}" class="bar${series}"/>`,
        ...(bar.reach === undefined ? [] : [stroke(end, y - 4, reach, y - 4, 'whisker')]),
        label(Math.max(end, reach) + 6, y, plain(Number(bar.value.toPrecision(3)))),
      );
    }
    y += LINE / 2;
  }
  const grid = scale.ticks.flatMap((tick) => [
    stroke(at(tick), top + 4, at(tick), y, 'grid'),
    label(at(tick), y + LINE, plain(tick), 'quiet middle'),
  ]);
  const named = x.log === true ? `${x.label} (logarithmic)` : x.label;
  body.push(label(left + PLOT_WIDTH / 2, y + 2 * LINE, named, 'middle'));
  // Room for the value beside the longest bar.
  return picture(title, left + PLOT_WIDTH + 70, y + 2 * LINE + MARGIN, [...grid, ...body]);
}
